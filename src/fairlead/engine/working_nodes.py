"""The nodes of a site while a plan is being made: the snapshot, plus what the plan has placed so far.

A working copy inside one call of the engine. `mark` and `undo` take back what came after a mark, so that a gang that
does not fit leaves nothing behind.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fairlead.levels.node.constraints.feasible import NOTHING_MORE
from fairlead.levels.node.group import Grouping, NodeGroup, place_group
from fairlead.model.columns import Bool, Int, longer
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_rank
from fairlead.model.population import Population, Resident, resident
from fairlead.model.reasons import Reason
from fairlead.model.shape import Shape


class WorkingNodes:
    """Places groups one after the other, each seeing those before it."""

    def __init__(self, nodes: NodeState, population: Population, rank: Int | None = None) -> None:
        self.nodes = nodes
        self.rank = natural_rank(nodes.names) if rank is None else rank
        self._used = nodes.used.copy()
        self._placed: list[tuple[Shape, Int]] = []
        self._people = _People(population)

    @property
    def state(self) -> NodeState:
        """The nodes as they are now."""
        return replace(self.nodes, used=self._used.copy())

    @property
    def population(self) -> Population:
        """Who runs where, the replicas placed by this plan among them."""
        return self._people.view()

    def place(
        self, shape: Shape, need: int, base: Int, step: Int, also: Mapping[Reason, Bool] = NOTHING_MORE
    ) -> Grouping:
        """Place a group and count it as there; `also` are filters that the caller has worked out."""
        # The working copy itself, not `state`: place_group only reads it, and a copy a group would be most of the cost.
        now = replace(self.nodes, used=self._used)
        group = NodeGroup(shape=shape, need=need, base=base, step=step)
        grouping = place_group(now, self.population, group, rank=self.rank, also=also)
        self._add(shape, grouping.counts, 1)
        self._people.add(resident(shape), grouping.counts)
        self._placed.append((shape, grouping.counts))
        return grouping

    def mark(self) -> int:
        """A point to return to."""
        return len(self._placed)

    def undo(self, mark: int) -> None:
        """Take back every group placed after the mark."""
        while len(self._placed) > mark:
            shape, counts = self._placed.pop()
            self._add(shape, counts, -1)
            self._people.remove(int(counts.sum()))

    def shift(self, shape: Shape, counts: Int, sign: int) -> None:
        """So many replicas of the shape are on each node now too (sign 1), or are gone from there (−1).

        Not to be called between a mark and its undo.
        """
        self._add(shape, counts, sign)
        if sign > 0:
            self._people.add(resident(shape), counts)
        else:
            self._people.lose(resident(shape), counts)

    def _add(self, shape: Shape, counts: Int, sign: int) -> None:
        rows = np.flatnonzero(counts)
        for name, amount in shape.request:
            column = self.nodes.column(name)
            if column is not None:
                self._used[rows, column] += sign * amount * counts[rows]


class _People:
    """A population that grows at its end; views share its columns."""

    def __init__(self, population: Population) -> None:
        self._start = population
        self._known: dict[Resident, int] = {each: code for code, each in enumerate(population.residents)}
        self._wary = list(population.wary or ())
        self._residents = population.residents
        self._count = len(population.rows)
        self._codes, self._rows, self._leaving = population.codes, population.rows, population.leaving

    def add(self, who: Resident, counts: Int) -> None:
        """So many replicas of a kind on each node."""
        added = int(counts.sum())
        if not added:
            return
        if who not in self._known:
            if who.far:
                self._wary.append(len(self._known))
            self._known[who] = len(self._known)
            self._residents = (*self._residents, who)
        self._reserve(self._count + added)
        there = slice(self._count, self._count + added)
        self._codes[there] = self._known[who]
        self._rows[there] = np.repeat(np.arange(len(counts)), counts)
        self._leaving[there] = False
        self._count += added

    def remove(self, count: int) -> None:
        """Forget the last so many."""
        self._count -= count

    def lose(self, who: Resident, counts: Int) -> None:
        """So many replicas of a kind are gone from each node, as far as they were there."""
        codes, rows = self._codes[: self._count], self._rows[: self._count]
        alike = np.flatnonzero(codes == self._known.get(who, -1))
        order = alike[np.argsort(rows[alike], kind="stable")]
        nodes = rows[order]
        place = np.arange(len(order)) - np.searchsorted(nodes, nodes)
        gone = order[place < counts[nodes]]
        self._codes, self._rows = np.delete(codes, gone), np.delete(rows, gone)
        self._leaving = np.delete(self._leaving[: self._count], gone)
        self._count -= len(gone)

    def view(self) -> Population:
        """The replicas now; valid until the next change."""
        return Population(
            residents=self._residents,
            codes=self._codes[: self._count],
            rows=self._rows[: self._count],
            leaving=self._leaving[: self._count],
            namespaces=self._start.namespaces,
            wary=tuple(self._wary),
        )

    def _reserve(self, size: int) -> None:
        if size > len(self._codes) or not self._codes.flags.writeable:
            room = max(2 * size, 1024)
            self._codes = longer(self._codes[: self._count], room)
            self._rows = longer(self._rows[: self._count], room)
            self._leaving = longer(self._leaving[: self._count], room)
