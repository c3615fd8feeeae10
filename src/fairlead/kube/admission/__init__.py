"""Admission on the wire: reviews and their answers, node rules as sets of labels, and the JSON patch of a verdict.

Here belongs what turns a verdict into terms and operations. What the verdict is, is decided in `levels/tier`.
"""
