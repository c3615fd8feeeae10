"""Advice: which storage replicas to move so that disks are emptied, or usable space becomes even, in few moves."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.disk import reasons as why
from fairlead.levels.disk.layout import Layout
from fairlead.levels.disk.stages import Evenness, LayoutStage, across_nodes, inside_node
from fairlead.model.balancing import BalancePolicy
from fairlead.model.columns import Int, frozen
from fairlead.model.decision import Decision, Trace
from fairlead.model.disks import DiskTable
from fairlead.model.reasons import Finding, because
from fairlead.model.storage import StorageVolume

SEARCHED = 4000
"""Sequences tried when a plan shorter than the greedy one is looked for."""
LONGEST = 4
"""Moves in the longest sequence that is looked for where greedy steps do not reach the target."""
TRIED = 200
"""Up to this many replicas all are tried as movers in every step."""
LOWEST = 8
"""Bins with the least usable space whose replicas are tried as movers in one step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the moves are for, and what they may cost; None: no limit. `target` is the score to come down to."""

    target: Fraction | None = None
    moves: int | None = None
    bytes: int | None = None
    emptied: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One storage replica to another disk; `stage` is `empty`, `nodes` or `disks`, the scores are of that stage."""

    volume: str
    replica: str
    size_bytes: int
    source: int
    target: int
    stage: str
    before: Fraction
    after: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance(Decision):
    """The moves in the order in which they are feasible, and the imbalance (nodes, worst node's disks) around them."""

    disks: DiskTable
    goal: Goal
    moves: tuple[Move, ...]
    before: tuple[Fraction, Fraction]
    after: tuple[Fraction, Fraction]
    usable_before_bytes: Int
    usable_after_bytes: Int


def rebalance(volumes: Sequence[StorageVolume], disks: DiskTable, policy: BalancePolicy, goal: Goal) -> Rebalance:
    """Advice on moves. Disks to be emptied come first, then the nodes among each other, then the disks of each node.

    Every move is feasible when its turn comes, keeps anti-affinity, and (unless it empties a disk) lowers the evenness
    of its stage, (score, variance), without ever raising the score; a tail of moves that did not lower the score is
    dropped. Volumes that are degraded, rebuilding or short of replicas are left alone.
    """
    layout = Layout(volumes, disks, policy, goal.emptied)
    planner = _Planner(layout, goal)
    before, usable = planner.imbalance(), layout.ledger.usable.copy()
    left = planner.empty()
    if goal.target is not None:
        planner.even(across_nodes(layout), "nodes")
        for node in planner.uneven_nodes():
            planner.even(inside_node(layout, node), "disks")
    after = planner.imbalance()
    return Rebalance(
        placements=MappingProxyType({}),
        unplaced=len(left),
        finding=_finding(left, after, planner, goal),
        trace=Trace(considered=len(layout.replicas), notes=tuple(_notes(layout))),
        disks=disks,
        goal=goal,
        moves=tuple(planner.moves),
        before=before,
        after=after,
        usable_before_bytes=frozen(usable),
        usable_after_bytes=frozen(layout.ledger.usable),
    )


class _Planner:
    """The moves so far and what is left of the budget."""

    def __init__(self, layout: Layout, goal: Goal) -> None:
        self.layout, self.goal = layout, goal
        self.moves: list[Move] = []
        self._moved: list[int] = []

    def imbalance(self) -> tuple[Fraction, Fraction]:
        """The score of the nodes, and the worst score of the disks of one node."""
        layout = self.layout
        nodes = np.unique(layout.disks.node_of[layout.open]).tolist()
        worst = max((inside_node(layout, node).evenness()[0] for node in nodes), default=Fraction(0))
        return across_nodes(layout).evenness()[0], worst

    def uneven_nodes(self) -> list[int]:
        """Nodes whose disks miss the target, the most uneven first."""
        layout = self.layout
        scores = {
            node: inside_node(layout, node).evenness()[0]
            for node in np.unique(layout.disks.node_of[layout.open]).tolist()
        }
        assert self.goal.target is not None
        return sorted((n for n, score in scores.items() if score > self.goal.target), key=lambda n: (-scores[n], n))

    def empty(self) -> list[int]:
        """Move every replica off the disks to be emptied, larger ones first; returns those that stay."""
        layout, stage = self.layout, across_nodes(self.layout)
        on_them = [replica for replica, row in enumerate(layout.at) if row in self.goal.emptied]
        stay = []
        for replica in sorted(on_them, key=lambda each: (-layout.size(each), each)):
            found = stage.best_target(replica, stage.usable()) if layout.movable(replica) else None
            if found is None or not self._affords(layout.size(replica)):
                stay.append(replica)
                continue
            before = stage.evenness()[0]
            self._apply(replica, found[1], "empty", before, found[0][0])
        return stay

    def even(self, stage: LayoutStage, name: str) -> None:
        """Moves between the bins of a stage until its score is down to the target, nothing helps or nothing is left."""
        assert self.goal.target is not None
        start = len(self.moves)
        lowest = start
        now = stage.evenness()
        while now[0] > self.goal.target:
            step = self._step(stage, now)
            if step is None:
                break
            after, replica, row = step
            self._apply(replica, row, name, now[0], after[0])
            lowest = len(self.moves) if after[0] < now[0] else lowest
            now = after
        reached = now[0] <= self.goal.target
        self._drop(len(self.moves) if reached else lowest)
        self._shorten(stage, name, start, len(self.moves) - start if reached else LONGEST + 1)

    def _step(self, stage: LayoutStage, now: Evenness) -> tuple[Evenness, int, int] | None:
        """The move that leaves the stage most even, the smaller replica among equals; None if none makes it more so."""
        usable = stage.usable()
        found = []
        for replica in self._movers(stage):
            size = self.layout.size(replica)
            best = stage.best_target(replica, usable) if self._affords(size) else None
            if best is not None and best[0] < now:
                found.append((best[0], size, replica, best[1]))
        if not found:
            return None
        after, _, replica, row = min(found)
        return after, replica, row

    def _movers(self, stage: LayoutStage) -> list[int]:
        """Replicas worth trying: all of them if they are few, else those in the bins with the least usable space."""
        layout = self.layout
        low = set(range(stage.bins))
        if len(layout.at) > TRIED:
            usable = stage.usable()
            low = set(np.argsort(usable, kind="stable")[:LOWEST].tolist())
            if layout.policy.alpha < 1:
                low |= set(np.argsort(usable / stage.totals, kind="stable")[:LOWEST].tolist())
        inside = [replica for replica, row in enumerate(layout.at) if int(stage.bin_of[row]) in low]
        return [replica for replica in inside if layout.movable(replica)]

    def _affords(self, size_bytes: int) -> bool:
        moved = sum(move.size_bytes for move in self.moves)
        fits = self.goal.bytes is None or moved + size_bytes <= self.goal.bytes
        return fits and (self.goal.moves is None or len(self.moves) < self.goal.moves)

    def _apply(self, replica: int, row: int, stage: str, before: Fraction, after: Fraction) -> None:
        sited = self.layout.replicas[replica]
        self.moves.append(
            Move(
                volume=self.layout.volumes[sited.volume].name,
                replica=sited.name,
                size_bytes=self.layout.size(replica),
                source=self.layout.at[replica],
                target=row,
                stage=stage,
                before=before,
                after=after,
            )
        )
        self._moved.append(replica)
        self.layout.move(replica, row)

    def _drop(self, kept: int) -> None:
        """Take back the last moves until `kept` are left."""
        while len(self.moves) > kept:
            self.layout.move(self._moved.pop(), self.moves.pop().source)

    def _shorten(self, stage: LayoutStage, name: str, start: int, below: int) -> None:
        """Replace the moves since `start` by fewer than `below` that reach the target, if a search finds them."""
        greedy = list(zip(self._moved[start:], self.moves[start:], strict=True))
        self._drop(start)
        shorter = next((found for size in range(1, below) if (found := self._search(stage, size))), None)
        for replica, row in shorter or [(replica, move.target) for replica, move in greedy]:
            before = stage.evenness()[0]
            self._apply(replica, row, name, before, before)
            self.moves[-1] = replace(self.moves[-1], after=stage.evenness()[0])

    def _search(self, stage: LayoutStage, length: int) -> list[tuple[int, int]] | None:
        """The best of all sequences of that length that reach the target; None if there is none, or too many to try."""
        layout = self.layout
        movable = [replica for replica in range(len(layout.at)) if layout.movable(replica)]
        if (len(movable) * stage.bins) ** length > SEARCHED:
            return None
        target = self.goal.target
        assert target is not None
        best: tuple[Evenness, int, list[tuple[int, int]]] | None = None
        path: list[tuple[int, int]] = []

        def visit(now: Evenness) -> None:
            nonlocal best
            for replica in movable:
                source, size = layout.at[replica], layout.size(replica)
                for row in stage.targets(replica) if self._affords(size) else ():
                    self._apply(replica, row, "", now[0], now[0])
                    path.append((replica, row))
                    after = stage.evenness()
                    if after < now and len(path) < length:
                        visit(after)
                    elif after < now and after[0] <= target:
                        cost = sum(layout.size(each) for each, _ in path)
                        if best is None or (after, cost, path) < best:
                            best = (after, cost, list(path))
                    path.pop()
                    self._drop(len(self.moves) - 1)
                    assert layout.at[replica] == source

        visit(stage.evenness())
        return best[2] if best else None


def _finding(left: list[int], after: tuple[Fraction, Fraction], planner: _Planner, goal: Goal) -> Finding | None:
    """Why a disk is not empty, or why the target is missed; emptying comes first."""
    layout = planner.layout
    if left:
        return because(why.NOT_EMPTIED, left=len(left), why=", ".join(_why_stay(layout, each) for each in left[:3]))
    if goal.target is not None and max(after) > goal.target:
        reached = f"{float(max(after)):.3f}"
        return because(why.TARGET_MISSED, imbalance=reached, moves=len(planner.moves), target=f"{float(goal.target):g}")
    return None


def _why_stay(layout: Layout, replica: int) -> str:
    """In a few words why one replica cannot leave its disk."""
    name = layout.replicas[replica].name
    if not layout.movable(replica):
        return f"{name} (its volume is degraded, rebuilding or bound to the node)"
    if layout.targets(replica).any():
        return f"{name} (the budget is spent)"
    codes = layout.refusals(replica)
    counts = np.bincount(codes[layout.open & (codes > 0)], minlength=1)
    parts = [f"{counts[code]} {why.REASONS_OF_A_DISK[code - 1].code}" for code in np.flatnonzero(counts)]
    return f"{name} ({', '.join(parts) or 'no other disk is open'})"


def _notes(layout: Layout) -> list[str]:
    alone = sorted({layout.volume(each).name for each in range(len(layout.at)) if not layout.movable(each)})
    notes = [f"{lost}: the disk is not there, so the replica is left alone" for lost in layout.lost]
    if alone:
        notes.append(f"left alone (degraded, rebuilding or held by locality): {', '.join(alone[:10])}")
    return notes
