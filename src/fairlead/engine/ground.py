"""The nodes of a site while a plan is being made: the snapshot, plus what the plan has placed so far.

A working copy inside one call of the engine. `mark` and `undo` take back what came after a mark, so that a gang that
does not fit leaves nothing behind.
"""

from dataclasses import dataclass, replace

import numpy as np

from fairlead.levels.node.group import Group, Grouping, place_group
from fairlead.model.columns import Int, flags, ints
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_rank
from fairlead.model.population import Population, Resident, resident
from fairlead.model.shape import Shape


@dataclass(frozen=True, slots=True)
class _Placed:
    shape: Shape
    counts: Int


class Ground:
    """Places groups one after the other, each seeing those before it."""

    def __init__(self, nodes: NodeState, population: Population, rank: Int | None = None) -> None:
        self.nodes = nodes
        self.rank = natural_rank(nodes.names) if rank is None else rank
        self._population = population
        self._used = nodes.used.copy()
        self._placed: list[_Placed] = []

    @property
    def state(self) -> NodeState:
        """The nodes as they are now."""
        return replace(self.nodes, used=self._used)

    def place(self, shape: Shape, need: int, base: Int, step: Int) -> Grouping:
        """Place a group and count it as there."""
        grouping = place_group(
            self.state, self.population, Group(shape=shape, need=need, base=base, step=step), rank=self.rank
        )
        self._add(shape, grouping.counts, 1)
        self._placed.append(_Placed(shape, grouping.counts))
        return grouping

    @property
    def population(self) -> Population:
        """Who runs where, the replicas placed by this plan among them."""
        newcomers = [(resident(each.shape), each.counts) for each in self._placed if each.counts.any()]
        if not newcomers:
            return self._population
        known: dict[Resident, int] = {each: code for code, each in enumerate(self._population.residents)}
        codes, rows = [self._population.codes], [self._population.rows]
        for who, counts in newcomers:
            code = known.setdefault(who, len(known))
            rows.append(np.repeat(np.arange(len(counts)), counts))
            codes.append(np.full(int(counts.sum()), code))
        added = sum(map(len, rows[1:]))
        return Population(
            residents=tuple(known),
            codes=ints(np.concatenate(codes)),
            rows=ints(np.concatenate(rows)),
            leaving=flags(np.concatenate([self._population.leaving, np.zeros(added, dtype=np.bool_)])),
            namespaces=self._population.namespaces,
        )

    def mark(self) -> int:
        """A point to return to."""
        return len(self._placed)

    def undo(self, mark: int) -> None:
        """Take back every group placed after the mark."""
        while len(self._placed) > mark:
            last = self._placed.pop()
            self._add(last.shape, last.counts, -1)

    def _add(self, shape: Shape, counts: Int, sign: int) -> None:
        for name, amount in shape.request:
            column = self.nodes.column(name)
            if column is not None:
                self._used[:, column] += sign * amount * counts
