"""Leases that are called by the name of a scheduler."""

import re

from fairlead.model.errors import InputError

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""What a lease may be called, as the API server has it."""
MOST_CHARACTERS = 253


def lease_of(name: str, component: str, place: str) -> str:
    """What the lease of a component is called; `place` is where the name of its scheduler is given."""
    lease = f"{name}-{component}"
    if not NAME.fullmatch(name) or len(lease) > MOST_CHARACTERS:
        raise InputError(
            place,
            f"is {name!r}, by which no lease can be called; expected lower-case letters, digits, '-' and '.', or "
            "--no-leader-election",
        )
    return lease
