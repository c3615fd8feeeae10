"""Beside another scheduler: where this one would have decided otherwise, binding by binding, and why.

Every version of a binding is looked at. One that asks for a decision leaves what we would write; the version in which
the other scheduler has answered is compared with it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.kube.codec.decided import running
from fairlead.live.fleet.decide import BindingVerdict, condition_of

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two answers to one question. `moves` are replicas that a cluster would lose, or lost, that need not.

    `estimates` is what estimators told us when we were asked; what they told the other scheduler is not known.
    """

    binding: str
    replicas: int
    ours: Mapping[str, int]
    theirs: Mapping[str, int]
    reason: str
    their_reason: str
    why: str
    moves: int
    their_moves: int
    estimates: Mapping[str, int]

    def as_record(self) -> dict[str, Any]:
        """For the page of differences."""
        by = {"estimates": self.estimates} if self.estimates else {}
        return {
            "binding": self.binding,
            "replicas": self.replicas,
            "ours": {"clusters": self.ours, "reason": self.reason, "moves": self.moves, "why": self.why, **by},
            "theirs": {"clusters": self.theirs, "reason": self.their_reason, "moves": self.their_moves},
        }


@dataclass(slots=True)
class Comparison:
    """What was compared so far. `differences` has the last one of each binding."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: dict[Key, Difference] = field(default_factory=dict)
    _open: dict[Key, BindingVerdict] = field(default_factory=dict)

    def look(self, verdict: BindingVerdict) -> Difference | None:
        """Take the verdict on one version of a binding; the difference where the other scheduler has answered."""
        opened = self._open.get(verdict.key)
        if not verdict.kept:
            if opened is None or not _same_question(opened, verdict):
                self._open[verdict.key] = verdict
            return None
        answered = condition_of(verdict.binding)
        if opened is None or answered is None or not _same_question(opened, verdict):
            self._open.pop(verdict.key, None)
            return None
        del self._open[verdict.key]
        return self._compared(opened, verdict, answered.reason)

    def forget(self, key: Key) -> None:
        """The binding is gone."""
        self._open.pop(key, None)
        self.differences.pop(key, None)

    def as_record(self) -> dict[str, Any]:
        """For the page of differences."""
        found = [self.differences[key].as_record() for key in sorted(self.differences)]
        return {"agreed": self.counts["agreed"], "differed": self.counts["differed"], "differences": found}

    def _compared(self, opened: BindingVerdict, now: BindingVerdict, their_reason: str) -> Difference | None:
        theirs, before = running(now.binding), running(opened.binding)
        ours = before if opened.counts is None else dict(opened.counts)
        if ours == theirs:
            self.counts["agreed"] += 1
            self.differences.pop(now.key, None)
            return None
        self.counts["differed"] += 1
        difference = Difference(
            binding="/".join(now.key).lstrip("/"),
            replicas=now.binding.spec.replicas,
            ours=ours,
            theirs=theirs,
            reason=opened.reason,
            their_reason=their_reason,
            why=opened.note,
            moves=moves(before, ours),
            their_moves=moves(before, theirs),
            estimates=opened.estimates,
        )
        self.differences[now.key] = difference
        return difference


def _same_question(one: BindingVerdict, other: BindingVerdict) -> bool:
    """Whether two versions ask for the same: the same placement for the same replicas."""
    mine, theirs = one.binding.spec, other.binding.spec
    return (mine.placement, mine.replicas) == (theirs.placement, theirs.replicas)


def moves(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """Replicas that clusters lose beyond those that are scaled away."""
    lost = sum(max(0, count - after.get(name, 0)) for name, count in before.items())
    return lost - max(0, sum(before.values()) - sum(after.values()))
