"""The command line: one file a command, and what commands share (`main`, `verb`, `output`).

Commands read, call the packages below and print. Nothing here decides. NumPy, rich and aiohttp are imported inside
the functions that need them, so that `fairlead --help` stays quick.
"""
