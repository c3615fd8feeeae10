"""What the live components share: the health and metrics server, signals, the clock.

Here belongs nothing that knows what a component decides.
"""
