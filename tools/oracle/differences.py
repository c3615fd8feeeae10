"""Where Fairlead and the oracle differ about a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.oracle.clusters import Cluster
from tools.oracle.draw import Draw
from tools.oracle.intended import explanations, named
from tools.oracle.ours import Opinion, after_one, opinions
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
    ours = dict(opinions(answer.admitted, Draw(f"history/{tally.clusters}")))
    found = _unexplained(oracle, cluster, list(_found(answer, ours, tally)), tally)
    found += _next(oracle, cluster, answer, ours, tally)
    tally.kinds.update(each.kind for each in found)
    return found


def _next(oracle: Oracle, cluster: Cluster, answer: Answer, ours: dict[str, Opinion], tally: Tally) -> list[Difference]:
    """What differs about the second replica after the first: a pod of the cluster with one like it placed before."""
    free = [pod for pod in cluster["pods"] if not pod["spec"].get("volumes") and named(pod) in answer.pods]
    chosen = [(pod, node) for pod in free for node in sorted(ours[named(pod)].feasible)]
    if not chosen:
        return []
    pod, node = chosen[tally.clusters % len(chosen)]
    meta = {**pod["metadata"], "name": f"{pod['metadata']['name']}-first", "uid": "uid-first"}
    first = {**pod, "metadata": meta, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Running"}}
    changed = {**cluster, "pods": [*cluster["pods"], first]}
    said, theirs = after_one(answer.admitted, named(pod), node), oracle.ask(changed).pods[named(pod)]
    tally.pairs += 1
    _count(theirs, tally, len(answer.admitted.nodes))
    found = [_difference(named(pod), each, said, theirs) for each in sorted(said.feasible ^ theirs.feasible)]
    return _unexplained(oracle, changed, found, tally)


def _unexplained(oracle: Oracle, cluster: Cluster, found: list[Difference], tally: Tally) -> list[Difference]:
    """Those that no intended difference explains."""
    left = []
    for each in found:
        code = _explanation(oracle, cluster, each)
        if code:
            tally.intended[code] += 1
        else:
            left.append(each)
    return left


def _explanation(oracle: Oracle, cluster: Cluster, found: Difference) -> str:
    for code, changed in explanations(cluster, found.pod, found.node, found.word):
        if found.ends(oracle.ask(changed).pods[found.pod]):
            return code
    return ""


def _found(answer: Answer, ours: dict[str, Opinion], tally: Tally) -> Iterator[Difference]:
    for pod, said in ours.items():
        theirs = answer.pods[pod]
        tally.pairs += 1
        if said.missing:
            tally.left[said.missing] += 1
            continue
        _count(theirs, tally, len(answer.admitted.nodes))
        for node in sorted(said.feasible ^ theirs.feasible):
            yield _difference(pod, node, said, theirs)


def _count(theirs: Verdict, tally: Tally, nodes: int) -> None:
    tally.nodes += nodes
    tally.feasible += len(theirs.feasible)
    if theirs.everywhere is not None:
        tally.plugins[theirs.everywhere.plugin] += 1
    tally.plugins.update({each.plugin for each in theirs.refused.values()})


def _difference(pod: str, node: str, ours: Opinion, theirs: Verdict) -> Difference:
    return Difference(pod=pod, node=node, ours=ours.reasons.get(node, FEASIBLE), theirs=theirs.why(node))
