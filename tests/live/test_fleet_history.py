"""Random histories of a binding: a target leaves only for one of the causes that a person or Karmada gives."""

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube import timestamps
from fairlead.kube.codec.decided import ANNOTATION, running
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.live.fleet.decide import decide
from tests.live.bindings import binding, cluster, with_annotations, with_spec, written
from tests.live.test_fleet_stays import DIVIDED, LACKING, NAMES, PLACEMENTS, ROOMY

ALL = (*NAMES, "m5")
FULL = {"resourceSummary": {**ROOMY, "allocated": {"pods": "20"}}}
REPORTS: dict[str, dict[str, Any]] = {
    "speaks": {"resourceSummary": ROOMY},
    "is silent": {},
    "is full": FULL,
    "lacks": LACKING,
}
TAINTS = {"repels": "NoSchedule", "avoids": "PreferNoSchedule", "drains": "NoExecute"}
EVENTS = (*REPORTS, *TAINTS, "heals", "goes", "is excluded", "is included", "is evicted", "is settled")
"""What happens to a cluster, or to the binding on it."""
CHANGES = ("grows", "shrinks", "rebalance", "look")
"""What happens to the binding."""


@dataclass
class World:
    """A binding and five clusters, of which the last may come and go."""

    found: ResourceBinding
    taints: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in ALL})
    reports: dict[str, dict[str, Any]] = field(default_factory=lambda: dict.fromkeys(ALL, REPORTS["speaks"]))
    away: set[str] = field(default_factory=lambda: {"m5"})
    excluded: set[str] = field(default_factory=set)
    asked: bool = False
    """Whether replicas fell, or a rebalance was asked for, since the last decision that was made whole."""
    now: float = 1.8e9

    def clusters(self) -> list[KarmadaCluster]:
        return [cluster(name, *self.taints[name], **self.reports[name]) for name in ALL if name not in self.away]

    def happen(self, what: str, where: str, number: int) -> None:
        self.now += 60
        if what in REPORTS:
            self.reports[where] = REPORTS[what]
            self.away.discard(where)
        elif what in TAINTS:
            self.taints[where].add(TAINTS[what])
        elif what == "heals":
            self.taints[where].clear()
        elif what == "goes":
            self.away.add(where)
        elif what in ("is excluded", "is included"):
            self.exclude({where} if what == "is excluded" else set())
        else:
            self.change(what, where, number)

    def exclude(self, names: set[str]) -> None:
        """A person edits the affinity of the policy."""
        self.excluded = names
        placement = {**(self.found.spec.placement or {}), "clusterAffinity": {"exclude": sorted(names)}}
        self.found = with_spec(self.found, placement=placement)

    def change(self, what: str, where: str, number: int) -> None:
        spec = self.found.spec
        tasks = [{"fromCluster": each.from_cluster} for each in spec.graceful_eviction_tasks]
        if what == "is evicted" and where in running(self.found):
            left = [{"name": name, "replicas": n} for name, n in running(self.found).items() if name != where]
            self.found = with_spec(self.found, clusters=left, gracefulEvictionTasks=[*tasks, {"fromCluster": where}])
        elif what == "is settled":
            others = [each for each in tasks if each["fromCluster"] != where]
            self.found = with_spec(self.found, gracefulEvictionTasks=others)
        elif what == "rebalance":
            self.found = with_spec(self.found, rescheduleTriggeredAt=timestamps.whole(self.now))
            self.asked = True
        elif what in ("grows", "shrinks") and spec.replicas:
            # Never fewer than clusters: the range of equal weights then leaves no cluster without a replica.
            replicas = spec.replicas + number if what == "grows" else max(6, spec.replicas - number)
            self.asked |= replicas < spec.replicas
            self.found = with_spec(self.found, replicas=replicas)

    def decide(self) -> None:
        (verdict,) = decide([self.found], self.clusters())
        self.found = written(verdict, self.now + 30)
        self.asked &= not verdict.success

    def leaving(self) -> set[str]:
        """The clusters that something asks targets to leave."""
        return set(ALL) if self.asked else self.away | self.excluded


@given(
    kind=st.sampled_from(tuple(PLACEMENTS)),
    story=st.lists(
        st.tuples(st.sampled_from((*EVENTS, *CHANGES)), st.sampled_from(ALL), st.integers(1, 4)), max_size=16
    ),
)
def test_target_leaves_only_for_a_cause(kind: str, story: list[tuple[str, str, int]]) -> None:
    """Taken out by the taint manager, excluded, its cluster gone, replicas fell, a rebalance: nothing else counts."""
    placement, replicas = PLACEMENTS[kind]
    world = World(binding("web", placement, replicas))
    world.decide()
    for what, where, number in story:
        world.happen(what, where, number)
        before, leaving = set(running(world.found)), world.leaving()
        tasks = {each.from_cluster for each in world.found.spec.graceful_eviction_tasks}
        world.decide()
        after = set(running(world.found))
        assert before - after <= leaving, what
        assert not (after - before) & (tasks | world.excluded | world.away), what


KNOBS = st.fixed_dictionaries(
    {},
    optional={
        "rescheduling": st.just("fresh"),
        "sticky": st.sampled_from(("seed", "most", "none")),
        "respectRoom": st.booleans(),
        "partial": st.booleans(),
        "packed": st.booleans(),
    },
)
SHORT = {"replicaScheduling": {**DIVIDED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}}


@given(
    placed=st.sampled_from((*PLACEMENTS.values(), (SHORT, 90))),
    knobs=KNOBS,
    effects=st.fixed_dictionaries({name: st.sets(st.sampled_from(tuple(TAINTS.values()))) for name in NAMES}),
    served=st.sampled_from(({}, LACKING)),
)
def test_taints_of_targets_change_neither_the_targets_nor_the_mark(
    placed: tuple[dict[str, Any], int], knobs: dict[str, Any], effects: dict[str, set[str]], served: dict[str, Any]
) -> None:
    """Also where the policy asks for a fresh division whenever clusters change, and where room is short."""
    placement, replicas = placed
    found = with_annotations(binding("web", placement, replicas), {"fairlead.io/divide": json.dumps(knobs)})
    report = {"resourceSummary": ROOMY}
    before = written(decide([found], [cluster(name, **report) for name in NAMES])[0])
    targets = running(before)
    troubled = {name: (effects[name], served) if name in targets else ((), {}) for name in NAMES}
    clusters = [cluster(name, *taints, **report, **lost) for name, (taints, lost) in troubled.items()]
    after = written(decide([before], clusters)[0])
    assert running(after) == targets
    assert after.metadata.annotations.get(ANNOTATION) == before.metadata.annotations.get(ANNOTATION)
