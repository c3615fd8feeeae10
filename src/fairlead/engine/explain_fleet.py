"""A division as sentences."""

from fairlead.levels.fleet.divide import Division


def lines(decision: Division) -> tuple[str, ...]:
    """Why each cluster gets what it gets."""
    return decision.trace.notes
