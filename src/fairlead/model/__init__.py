"""The nouns: amounts, order of names, reasons, decisions, column tables, snapshot and plan.

Here belong types that several packages speak about, and nothing that decides. Modules of this package import
NumPy and each other, never a level, a socket or a clock.
"""
