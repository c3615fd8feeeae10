"""Manifests to model types: files and directories in, the tables of the levels out.

`load` finds and parses files; the other modules convert objects of one level each. Nothing here decides.
"""
