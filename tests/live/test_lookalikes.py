"""Pods that each carry a label of their own are placed together, unless a selector of anybody reads that label."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.changes import Change
from fairlead.levels.node.constraints.reasons import NO_ROOM
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.lookalikes import lookalikes
from fairlead.live.cluster.pod_sets import PodSetOutcome, grouped
from fairlead.live.cluster.records import PodRecord
from fairlead.live.scheduler import decide as module
from fairlead.live.scheduler.decide import decide
from fairlead.live.scheduler.pending import Pending
from tests.live.test_bare_pods import bare, refused
from tests.live.test_scheduler_decide import node

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def term(key: str, value: str = "r1") -> dict[str, Any]:
    """A term about pods whose label has this value."""
    return {"topologyKey": HOST, "labelSelector": {"matchLabels": {key: value}}}


def apart(*keys: str) -> dict[str, Any]:
    """A spec that keeps away from pods with such labels."""
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term(key) for key in keys]}}} if keys else {}


def run(number: int, **spec: Any) -> PodRecord:
    """A bare pod with a label of its own."""
    return bare(f"p{number}", meta={"labels": {"app": "ci", "run": f"r{number}"}}, **spec)


def cache(*pods: PodRecord, nodes: int = 3) -> Cache:
    """So many nodes of 4 cpu, each a domain of its own, and the pods."""
    made = Cache()
    for number in range(1, nodes + 1):
        each = node(f"n{number}", 4)
        each.metadata.labels[HOST] = f"n{number}"
        made.on_node(Change("added", each))
    for pod in pods:
        made.on_pod(Change("added", pod))
    return made


def decided(made: Cache) -> list[PodSetOutcome]:
    """Everything that waits."""
    return decide(made.view(), grouped(made.waiting.values()), made.per_node)


def test_pods_with_labels_of_their_own_are_placed_together() -> None:
    """Nobody reads the label: one outcome, the pods in their order, and the nodes level."""
    (outcome,) = decided(cache(*map(run, range(6))))
    assert [pod.metadata.name for pod, _ in outcome.placed] == [f"p{number}" for number in range(6)]
    assert Counter(place for _, place in outcome.placed) == {"n1": 2, "n2": 2, "n3": 2}


def test_a_label_that_all_have_does_not_matter_either() -> None:
    """Only what tells the pods apart and is read by somebody does: here `app`, which is the same for all."""
    made = cache(bare("there", nodeName="n1", **apart("app")), *map(run, range(6)))
    assert len(decided(made)) == 1


ANY_RUN = {"matchExpressions": [{"key": "run", "operator": "Exists"}]}
SPREAD = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": ANY_RUN}
READERS = {
    "one that runs and keeps away": bare("x", nodeName="n1", **apart("run")),
    "one that waits and keeps away": bare("x", **apart("run")),
    "one that waits to be near": bare("x", affinity={"podAffinity": {REQUIRED: [term("run")]}}),
    "one that waits for an even spread": bare("x", topologySpreadConstraints=[SPREAD]),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_label_that_somebody_reads_tells_them_apart(reader: PodRecord) -> None:
    """Each is a group again."""
    made = cache(reader, *map(run, range(3)))
    mine = [outcome for outcome in decided(made) if outcome.group.pods[0].metadata.name != "x"]
    assert [len(outcome.group.pods) for outcome in mine] == [1, 1, 1]


def test_one_that_runs_keeps_away_whom_it_names_and_nobody_else() -> None:
    """`r1` may not go where the reader is, though it is the emptiest node."""
    made = cache(bare("x", nodeName="n1", **apart("run")), *map(run, range(3)), nodes=2)
    places = {pod.metadata.name: place for outcome in decided(made) for pod, place in outcome.placed}
    assert places["p1"] == "n2"
    assert "n1" in places.values()


@given(
    waiting=st.lists(
        st.tuples(st.sampled_from([(), ("run",), ("app",), ("run", "app")]), st.integers(0, 2)), max_size=7
    ),
    running=st.lists(st.tuples(st.sampled_from([(), ("run",)]), st.integers(1, 3)), max_size=3),
)
def test_whom_anybody_keeps_away_is_never_beside_him(
    waiting: list[tuple[tuple[str, ...], int]], running: list[tuple[tuple[str, ...], int]]
) -> None:
    """Whatever is placed together: no pod is on a node with one whose selector selects it, in either direction."""
    there = [run(place, nodeName=f"n{place}", **apart(*keys)) for keys, place in running]
    pods = [
        bare(f"w{row}", meta={"labels": {"app": "r1" if "app" in keys else "ci", "run": f"r{value}"}}, **apart(*keys))
        for row, (keys, value) in enumerate(waiting)
    ]
    made = cache(*{pod.key: pod for pod in there}.values(), *pods)
    homes = [(pod, pod.node) for pod in made.pods.values() if pod.node]
    homes += [place for outcome in decided(made) for place in outcome.placed]
    for pod, home in homes:
        for other, place in homes:
            if home == place and pod is not other and not (pod.node and other.node):
                assert not any(
                    wish.selector and wish.selector.selects(dict(other.shape.labels)) for wish in pod.shape.far
                )


def test_whoever_has_a_place_is_parked_no_longer() -> None:
    """The groups that were placed as one are parked one by one, and leave one by one."""
    pods = tuple(map(run, range(3)))
    pending = Pending()
    for pod in pods:
        pending.park(refused((pod,), NO_ROOM), 0.0)
    assert len(pending) == 3
    (outcome,) = decided(cache(*pods))
    pending.settled(outcome)
    assert len(pending) == 0


def test_where_they_cannot_be_decided_together_each_is_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that makes deciding raise is set aside alone; its lookalikes find their nodes."""
    place = module._place

    def poisoned(*args: Any) -> Any:
        if any(pod.metadata.name == "p1" for pod in args[2].pods):
            raise RuntimeError("p1")
        return place(*args)

    monkeypatch.setattr(module, "_place", poisoned)
    outcomes = decided(cache(*map(run, range(3))))
    assert [len(outcome.placed) for outcome in outcomes] == [1, 0, 1]
    assert [str(outcome.defect) for outcome in outcomes if outcome.defect] == ["p1"]


def test_groups_keep_their_order() -> None:
    """Those that come together stand where the first of them stands."""
    groups = grouped([run(1), bare("other", priority=5), run(2), bare("plain", containers=[{"name": "c"}])])
    together = lookalikes(groups, cache().view().population)
    names = [[pod.metadata.name for group in alike for pod in group.pods] for alike in together]
    assert names == [["other"], ["p1", "p2"], ["plain"]]
