"""What the live components share: watching in rounds, leading, the health and metrics server, signals.

Here belongs nothing that knows what a component decides.
"""
