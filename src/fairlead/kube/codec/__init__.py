"""API objects to model types: the one place where the fields of Kubernetes become columns and shapes.

Conversion only. What an object means for a decision is decided in the levels.
"""
