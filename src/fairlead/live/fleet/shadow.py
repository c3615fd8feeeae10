"""Beside another scheduler: where this one would have decided otherwise, binding by binding, and why.

Every version of a binding is looked at. One that asks for a decision leaves what we would write; the version in which
the other scheduler has answered is compared with it. karmada-scheduler answers in several writes: clusters and
placement first, then the status with the generation that it decided on; a refusal is a condition and nothing else
(docs/decisions/0401).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.kube.codec.decided import APPLIED, is_applied, running
from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.kube.objects.meta import Condition
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
        if opened is None or not _same_question(opened, verdict):
            self._ask(verdict)
            return None
        if _touched(opened.binding, verdict.binding):
            answer = _answer(opened.binding, verdict.binding)
            if answer is None:
                return None
            del self._open[verdict.key]
            return self._compared(opened, verdict, answer.reason)
        if verdict.kept:
            # No answer came, and there is nothing to answer any more.
            del self._open[verdict.key]
        return None

    def _ask(self, verdict: BindingVerdict) -> None:
        """A version that asks for a decision opens a question, unless both answers to it are known to differ.

        One that does not, on other clusters than those that differed, ends a difference.
        """
        self._open.pop(verdict.key, None)
        known, theirs = self.differences.get(verdict.key), running(verdict.binding)
        if verdict.kept:
            if known is not None and known.theirs != theirs:
                del self.differences[verdict.key]
        elif known is None or (known.replicas, known.ours, known.theirs) != (
            verdict.binding.spec.replicas,
            _ours(verdict),
            theirs,
        ):
            self._open[verdict.key] = verdict

    def forget(self, key: Key) -> None:
        """The binding is gone."""
        self._open.pop(key, None)
        self.differences.pop(key, None)

    def as_record(self) -> dict[str, Any]:
        """For the page of differences."""
        found = [self.differences[key].as_record() for key in sorted(self.differences)]
        return {"agreed": self.counts["agreed"], "differed": self.counts["differed"], "differences": found}

    def _compared(self, opened: BindingVerdict, now: BindingVerdict, their_reason: str) -> Difference | None:
        theirs, before, ours = running(now.binding), running(opened.binding), _ours(opened)
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


def _ours(verdict: BindingVerdict) -> dict[str, int]:
    """The clusters as we would leave them."""
    return running(verdict.binding) if verdict.counts is None else dict(verdict.counts)


def _touched(before: ResourceBinding, now: ResourceBinding) -> bool:
    """Whether anything is another that a scheduler writes."""
    return _written(before) != _written(now)


def _written(binding: ResourceBinding) -> tuple[Any, ...]:
    status = binding.status
    times = (status.scheduler_observed_generation, status.last_scheduled_time)
    return (binding.spec.clusters, binding.metadata.annotations.get(APPLIED), *times, _condition(binding))


def _condition(binding: ResourceBinding) -> tuple[str, str, str] | None:
    """What the Scheduled condition says."""
    found = condition_of(binding)
    return None if found is None else (found.status, found.reason, found.message)


def _answer(before: ResourceBinding, now: ResourceBinding) -> Condition | None:
    """The condition by which the question of the first version is answered in the second; None while it is not.

    A decision tells the generation it was made on; a refusal only says something else than before.
    """
    found = condition_of(now)
    if found is None:
        return None
    if found.status == "False":
        return found if _condition(before) != _condition(now) else None
    decided = now.status.scheduler_observed_generation >= before.metadata.generation and is_applied(now)
    return found if decided else None


def _same_question(one: BindingVerdict, other: BindingVerdict) -> bool:
    """Whether two versions ask for the same: the same placement for the same replicas."""
    mine, theirs = one.binding.spec, other.binding.spec
    return (mine.placement, mine.replicas) == (theirs.placement, theirs.replicas)


def moves(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """Replicas that clusters lose beyond those that are scaled away."""
    lost = sum(max(0, count - after.get(name, 0)) for name, count in before.items())
    return lost - max(0, sum(before.values()) - sum(after.values()))
