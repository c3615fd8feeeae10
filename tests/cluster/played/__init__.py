"""Karmada's controllers as far as a scheduler meets them, played from what real ones were seen to write.

One small module each. They poll and write like the real ones: with the version they read, and again when another was
faster. Karmada itself cannot be built here.
"""
