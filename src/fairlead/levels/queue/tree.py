"""The tree of queues: which stands below which, and which cannot be used."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.queue import reasons
from fairlead.model.columns import Int, lookup
from fairlead.model.jobs import UNSET, QueueTable
from fairlead.model.order import natural_rank
from fairlead.model.reasons import Finding, because

ROOT = "root"
"""The name that stands for the whole where a queue names it as its parent."""
MOST_WEIGHT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTree:
    """Rows are those of the queue table; one more row, `whole`, stands for the cluster.

    A refused queue has no parent and no place in `children` or `top_down`; `refused` says why.
    """

    parent: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    top_down: tuple[int, ...]
    """Every queue in use, parents before children."""
    rank: Int
    """Natural order of the names."""
    refused: Mapping[int, Finding]

    @property
    def whole(self) -> int:
        """The row that stands for the whole."""
        return len(self.parent)

    def path(self, queue: int) -> tuple[int, ...]:
        """The queue, its parent, …, the whole."""
        rows = [queue]
        while rows[-1] != self.whole:
            rows.append(self.parent[rows[-1]])
        return tuple(rows)

    def below(self, queue: int) -> list[int]:
        """The queue and every queue below it."""
        rows = [queue]
        for row in rows:
            rows.extend(self.children[row])
        return rows

    def upward(self, column: Int) -> Int:
        """A column of the queues summed up the tree, [queue + 1, resource]; the last row is the whole."""
        sums = np.zeros((self.whole + 1, column.shape[1]), dtype=np.int64)
        sums[: self.whole] = column
        for queue in reversed(self.top_down):
            sums[self.parent[queue]] += sums[queue]
        return sums


def build(queues: QueueTable) -> QueueTree:
    """The tree of the table. Refused, with what is below: queues that cannot be read, of bad weight, with an unknown
    parent or in a cycle."""
    parents = _parents(queues)
    refused = {
        row: because(reasons.QUEUE_UNREADABLE, queue=queues.names[row], why=why) for row, why in queues.faults.items()
    }
    for row, weight in enumerate(queues.weight.tolist()):
        if row in refused:
            continue
        if not 1 <= weight <= MOST_WEIGHT:
            refused[row] = because(
                reasons.WEIGHT_OUT_OF_RANGE, queue=queues.names[row], weight=weight, most=MOST_WEIGHT
            )
        elif parents[row] == UNSET:
            refused[row] = because(reasons.UNKNOWN_PARENT, queue=queues.names[row], parent=queues.parents[row])
    _refuse_cycles(queues.names, parents, refused)
    _refuse_below(queues.names, parents, refused)
    rank = natural_rank(queues.names)
    children: list[list[int]] = [[] for _ in range(len(queues) + 1)]
    for row in sorted(range(len(queues)), key=rank.__getitem__):
        if row not in refused:
            children[parents[row]].append(row)
    return QueueTree(
        parent=tuple(parents),
        children=tuple(map(tuple, children)),
        top_down=_top_down(children),
        rank=rank,
        refused=refused,
    )


def _parents(queues: QueueTable) -> list[int]:
    """The row of each parent; the whole for a queue without one, UNSET where it does not exist."""
    row_of = lookup(queues.names)
    top = row_of[ROOT] if ROOT in row_of and ROOT in queues.parents else len(queues)
    parents = []
    for row, parent in enumerate(queues.parents):
        if not parent or (parent == ROOT and ROOT not in row_of):
            parents.append(len(queues) if row == top else top)
        else:
            parents.append(row_of.get(parent, UNSET))
    return parents


def _refuse_cycles(names: Sequence[str], parents: Sequence[int], refused: dict[int, Finding]) -> None:
    """Refuse every queue that is its own ancestor."""
    for start in range(len(names)):
        trail = [start]
        while 0 <= parents[trail[-1]] < len(names) and parents[trail[-1]] not in trail:
            trail.append(parents[trail[-1]])
        if parents[trail[-1]] == start and start not in refused:
            cycle = " → ".join(names[row] for row in [*trail, start])
            refused[start] = because(reasons.PARENT_CYCLE, queue=names[start], cycle=cycle)


def _refuse_below(names: Sequence[str], parents: Sequence[int], refused: dict[int, Finding]) -> None:
    """Refuse every queue below a refused one."""
    for row in range(len(names)):
        above = row
        while above < len(names) and above not in refused:
            above = parents[above]
        if above < len(names) and row not in refused:
            refused[row] = because(reasons.PARENT_REFUSED, queue=names[row], parent=names[above])


def _top_down(children: Sequence[Sequence[int]]) -> tuple[int, ...]:
    order: list[int] = list(children[-1])
    for row in order:
        order.extend(children[row])
    return tuple(order)
