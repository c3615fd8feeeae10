"""The seam between queue and node: does this gang fit nodes? Without nodes only sums count.

A `Fits` is a mutable working copy that the caller hands to one decision. The level calls it in the order in which it
decides: `room` before every step, `take` when the step is granted, `give` when running replicas are evicted on trial
and `take` again, with the same nodes, when the trial is undone.
"""

from collections.abc import Hashable, Mapping
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class AnyOrder(Fits, Protocol):
    """A `Fits` that can tell when the order in which replicas are placed does not matter. It saves a turn a replica."""

    def places(self, roles: Mapping[int, int]) -> int | None:
        """How many of these replicas, whichever they are and in whatever order, find a place; None: the order matters.

        A number means that so many surely fit, and either that is all of them, or all are alike and no more fit.
        """
        ...


@runtime_checkable
class Emptied(Fits, Protocol):
    """A `Fits` that can tell which roles no eviction helps. It saves the search for victims."""

    def ever(self, role: int) -> bool:
        """Whether some node might take a replica of the role if no other replica were there."""
        ...


@runtime_checkable
class Kinds(Fits, Protocol):
    """A `Fits` that can tell which roles nodes treat alike. It saves asking again what was refused."""

    def kind(self, role: int) -> Hashable:
        """Equal for roles of which replicas fit the same nodes and take the same there."""
        ...
