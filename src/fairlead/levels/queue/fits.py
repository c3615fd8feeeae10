"""The seam between queue and node: does this gang fit nodes? Without nodes only sums count.

A `Fits` is a mutable working copy that the caller hands to one decision. The level calls it in the order in which it
decides: `room` before every step, `take` when the step is granted, `give` when running replicas are evicted on trial
and `take` again, with the same nodes, when the trial is undone.
"""

from collections.abc import Mapping
from typing import Protocol

Spots = Mapping[int, int]
"""Row of a node → replicas there."""


class Fits(Protocol):
    """What the queue level asks of the node level. Roles are rows of the job table's roles."""

    def room(self, roles: Mapping[int, int]) -> Mapping[int, int]:
        """For each role how many of the replicas asked for could be placed now, all roles together."""
        ...

    def take(self, role: int, count: int) -> Spots:
        """Place so many replicas, and say where. Called only with what `room` has just granted."""
        ...

    def give(self, role: int, spots: Spots) -> None:
        """These replicas are gone."""
        ...

    def put(self, role: int, spots: Spots) -> None:
        """These replicas are back, on the same nodes."""
        ...

    def why(self, role: int) -> str:
        """In a few words, why no more replicas of the role fit."""
        ...
