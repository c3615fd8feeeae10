"""Where Fairlead and the oracle differ about a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.oracle.clusters import Cluster
from tools.oracle.intended import rewritten
from tools.oracle.ours import Opinion, opinions
from tools.oracle.process import Answer, Oracle, Verdict

FEASIBLE = "feasible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One node that one side finds feasible for a pod and the other does not, with what each side says."""

    pod: str
    node: str
    ours: str
    theirs: str

    @property
    def word(self) -> str:
        """The plugin that refuses, or Fairlead's reason."""
        return self.theirs.partition(": ")[0] if self.ours == FEASIBLE else self.ours

    def ends(self, verdict: Verdict) -> bool:
        """Whether the oracle says of another cluster what Fairlead says of this one."""
        return (self.node in verdict.feasible) == (self.ours == FEASIBLE)

    @property
    def kind(self) -> str:
        """Alike for differences that may have one cause: what each side says, without names."""
        plugin, _, reason = self.theirs.partition(": ")
        theirs = f"{plugin}: Error" if reason.startswith("Error") else self.theirs
        return f"ours {self.ours} | theirs {theirs}"


@dataclass(slots=True)
class Tally:
    """What a run has seen."""

    pairs: int = 0
    clusters: int = 0
    nodes: int = 0
    feasible: int = 0
    plugins: Counter[str] = field(default_factory=Counter)
    """Pods that a plugin refused somewhere."""
    left: Counter[str] = field(default_factory=Counter)
    """Pods that Fairlead leaves pending because it does not implement a constraint of theirs."""
    intended: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    """Objects that the API server would not take."""
    kinds: Counter[str] = field(default_factory=Counter)


def differences(oracle: Oracle, cluster: Cluster, tally: Tally) -> list[Difference]:
    """Ask both sides about every pod that waits: what differs without being intended."""
    answer = oracle.ask(cluster)
    tally.clusters += 1
    tally.invalid.update(each.split()[0] for each in answer.invalid)
    found = list(_found(answer, tally))
    for intended, changed in rewritten(cluster):
        candidates = [each for each in found if each.word in intended.words]
        if not candidates:
            continue
        verdicts = oracle.ask(changed).pods
        explained = {each for each in candidates if each.ends(verdicts[each.pod])}
        tally.intended[intended.code] += len(explained)
        found = [each for each in found if each not in explained]
    tally.kinds.update(each.kind for each in found)
    return found


def _found(answer: Answer, tally: Tally) -> Iterator[Difference]:
    for pod, ours in opinions(answer.admitted):
        theirs = answer.pods[pod]
        tally.pairs += 1
        if ours.missing:
            tally.left[ours.missing] += 1
            continue
        _count(theirs, tally, len(answer.admitted.nodes))
        for node in sorted(ours.feasible ^ theirs.feasible):
            yield _difference(pod, node, ours, theirs)


def _count(theirs: Verdict, tally: Tally, nodes: int) -> None:
    tally.nodes += nodes
    tally.feasible += len(theirs.feasible)
    if theirs.everywhere is not None:
        tally.plugins[theirs.everywhere.plugin] += 1
    tally.plugins.update({each.plugin for each in theirs.refused.values()})


def _difference(pod: str, node: str, ours: Opinion, theirs: Verdict) -> Difference:
    return Difference(pod=pod, node=node, ours=ours.reasons.get(node, FEASIBLE), theirs=theirs.why(node))
