"""Where the two answers differ, and which of the differences are intended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tools.oracle.ours import Opinion, opinions
from tools.oracle.process import Admitted, Answer, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One node that one side finds feasible for a pod and the other does not."""

    pod: str
    node: str
    ours: str
    theirs: str

    @property
    def kind(self) -> str:
        """What is told of differences of one cause: who allows, and why the other refuses."""
        return f"ours {self.ours} | theirs {self.theirs}"


@dataclass(slots=True)
class Tally:
    """What a run has seen."""

    pairs: int = 0
    clusters: int = 0
    feasible: int = 0
    nodes: int = 0
    left: Counter[str] = field(default_factory=Counter)
    intended: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    plugins: Counter[str] = field(default_factory=Counter)


def differences(answer: Answer, tally: Tally) -> Iterator[Difference]:
    """Everything that differs without being intended."""
    tally.clusters += 1
    tally.invalid.update(words.split(": ", 1)[0] for words in answer.invalid.values())
    for pod, ours in opinions(answer.admitted):
        theirs = answer.pods[pod]
        tally.pairs += 1
        if ours.left and ours.left != "gated":
            tally.left[ours.left.split(": ", 1)[-1]] += 1
            continue
        _count(theirs, tally, len(answer.admitted.nodes))
        for node in sorted(ours.feasible ^ theirs.feasible):
            found = _difference(pod, node, ours, theirs)
            reason = intended(answer.admitted, found)
            if reason:
                tally.intended[reason] += 1
            else:
                yield found


def _count(theirs: Verdict, tally: Tally, nodes: int) -> None:
    tally.nodes += nodes
    tally.feasible += len(theirs.feasible)
    if theirs.everywhere is not None:
        tally.plugins[theirs.everywhere.plugin] += 1
    tally.plugins.update({each.plugin for each in theirs.refused.values()})


def _difference(pod: str, node: str, ours: Opinion, theirs: Verdict) -> Difference:
    return Difference(pod=pod, node=node, ours=ours.left or ours.reasons.get(node, "feasible"), theirs=theirs.why(node))


def _not_ready(objects: Admitted, found: Difference) -> bool:
    return False


INTENDED: dict[str, Callable[[Admitted, Difference], bool]] = {}
"""Differences that are meant, by their reason code; each test holds for its own case and for nothing else."""


def intended(objects: Admitted, found: Difference) -> str:
    """The reason code of an intended difference; empty where there is none."""
    return next((reason for reason, holds in INTENDED.items() if holds(objects, found)), "")
