"""How many replicas move that need not: the table of docs/levels/fleet.md, computed."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fairlead.kube.codec.decided import APPLIED, applied_text, running
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.levels.fleet.divide import divide
from fairlead.live.fleet.decide import decide
from fairlead.model.clusters import cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, Mode
from tests.live.bindings import binding, cluster, with_annotations, with_spec, written

PAGE = Path(__file__).parents[2] / "docs" / "levels" / "fleet.md"
OBJECTS = 20
Counts = dict[str, int]
Step = tuple[int, dict[str, int], Sequence[str]]
"""Replicas, weights, and the clusters there are."""

WEIGHTS = {"m1": 1, "m2": 2, "m3": 3}
EQUAL = {"m1": 1, "m2": 1, "m3": 1, "m4": 1}
UP_AND_DOWN: list[Step] = [(r, WEIGHTS, tuple(WEIGHTS)) for r in (*range(4, 11), *range(9, 3, -1))]
JOIN: list[Step] = [(7, EQUAL, ("m1", "m2", "m3")), (7, EQUAL, ("m1", "m2", "m3", "m4"))]
BACK: list[Step] = [(7, EQUAL, ("m1", "m2")), (7, EQUAL, ("m1", "m2", "m3"))]
FEW_TO_MORE: list[Step] = [(7, EQUAL, ("m1", "m2", "m3")), (8, EQUAL, ("m1", "m2", "m3", "m4"))]


def karmada(step: Step, uid: str, before: Counts | None) -> Counts:
    """Webster's rule on the weights, and only where the replicas do not add up."""
    replicas, weights, names = step
    if before is not None and sum(before.values()) == replicas:
        return before
    clusters = cluster_table(list(names), weights=[weights[name] for name in names])
    workload = DivideWorkload(name=uid, replicas=replicas, tie_uid=uid)
    division = divide(workload, clusters, DividePolicy(mode=Mode.WEBSTER))
    return {name: n for name, n in division.placements.items() if n}


def placement(weights: dict[str, int]) -> dict[str, Any]:
    rules = [{"targetCluster": {"clusterNames": [name]}, "weight": n} for name, n in weights.items()]
    return {"replicaScheduling": {"weightPreference": {"staticWeightList": rules}}}


def moves(counts: Sequence[Counts]) -> int:
    """Replicas that clusters lost beyond those that were scaled away."""
    lost = 0
    for before, after in pairwise(counts):
        gone = sum(max(0, n - after.get(name, 0)) for name, n in before.items())
        lost += gone - max(0, sum(before.values()) - sum(after.values()))
    return lost


def by_karmada(steps: list[Step]) -> int:
    total = 0
    for number in range(OBJECTS):
        counts: list[Counts] = []
        for step in steps:
            counts.append(karmada(step, f"u{number}", counts[-1] if counts else None))
        total += moves(counts)
    return total


def by_fairlead(steps: list[Step], said: dict[str, str] | None = None) -> int:
    total = 0
    for number in range(OBJECTS):
        found = with_annotations(binding(f"web-{number}", placement(steps[0][1]), steps[0][0]), said or {})
        counts: list[Counts] = []
        for replicas, _, names in steps:
            found = after(with_spec(found, replicas=replicas), names)
            counts.append(running(found))
        total += moves(counts)
    return total


def after(found: ResourceBinding, names: Sequence[str]) -> ResourceBinding:
    clusters: list[KarmadaCluster] = [cluster(name) for name in names]
    return written(decide([found], clusters)[0])


def by_seed(steps: list[Step]) -> int:
    return by_fairlead(steps, {"fairlead.io/divide": '{"sticky": "seed"}'})


def taken_over(said: dict[str, str] | None = None) -> int:
    """karmada-scheduler divided, Fairlead takes over, and every workload is then scaled by one."""
    total = 0
    for number in range(OBJECTS):
        given = karmada((8, WEIGHTS, tuple(WEIGHTS)), f"u{number}", None)
        clusters = [{"name": name, "replicas": n} for name, n in given.items()]
        found = binding(f"web-{number}", placement(WEIGHTS), 8, clusters=clusters)
        found = with_annotations(found, {APPLIED: applied_text(found.spec.placement or {}), **(said or {})})
        first = after(found, tuple(WEIGHTS))
        second = after(with_spec(first, replicas=9), tuple(WEIGHTS))
        total += moves([given, running(first), running(second)])
    return total


ROWS: dict[str, tuple[Callable[[], int], Callable[[], int], Callable[[], int]]] = {
    "weights 1:2:3, replicas 4 → 10 → 4 by one": (
        lambda: by_karmada(UP_AND_DOWN),
        lambda: by_fairlead(UP_AND_DOWN),
        lambda: by_seed(UP_AND_DOWN),
    ),
    "a member joins, 7 replicas over three equal ones": (
        lambda: by_karmada(JOIN),
        lambda: by_fairlead(JOIN),
        lambda: by_seed(JOIN),
    ),
    "a drained member comes back, 7 replicas over two others": (
        lambda: by_karmada(BACK),
        lambda: by_fairlead(BACK),
        lambda: by_seed(BACK),
    ),
    "a member joins and 7 replicas become 8": (
        lambda: by_karmada(FEW_TO_MORE),
        lambda: by_fairlead(FEW_TO_MORE),
        lambda: by_seed(FEW_TO_MORE),
    ),
    "karmada-scheduler is replaced, then 8 replicas become 9": (
        lambda: 0,
        taken_over,
        lambda: taken_over({"fairlead.io/divide": '{"sticky": "seed"}'}),
    ),
}


@pytest.mark.parametrize("story", ROWS)
def test_moves_are_those_of_the_page(story: str) -> None:
    """Each row of the table."""
    found = [each() for each in ROWS[story]]
    assert f"| {story} | {' | '.join(map(str, found))} |" in PAGE.read_text()


def test_moves_are_fewest_by_default() -> None:
    """Never more than karmada-scheduler makes."""
    for ours in ROWS.values():
        assert ours[1]() <= ours[0]()
