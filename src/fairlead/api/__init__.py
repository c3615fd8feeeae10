"""The Python interface: functions that read manifests and answer, and the answers they give back.

Here belongs what `import fairlead` offers (its names are listed there), and reading that the command line shares.
Nothing here decides or draws: answers come from `engine`, `problems` and `sim`, pictures from `pictures`.
"""
