"""Manifests of the shapes that people have, small enough to be worked out by hand, with the answers."""
