"""Text from outside to plain values: JSON, JSON lines and YAML, strict, with the place of every mistake.

Here belongs what knows syntax and nothing of what the values mean.
"""
