"""One plan through all levels, on sites written out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.engine import reasons
from fairlead.engine.plan import plan
from fairlead.engine.record import plan_record, use_record
from fairlead.engine.site import plan_site
from fairlead.engine.site_plan import Path, SitePlan, spots
from fairlead.engine.tier_parts import parts
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.model.clusters import cluster_table
from fairlead.model.columns import ints
from fairlead.model.division import DividePolicy, DivideWorkload, DivisionAsk
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population
from fairlead.model.queuestate import QueueEntry
from fairlead.model.shape import Shape
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.tiers import Tiers
from fairlead.model.workload import Workload

CPU = 1000


def shop(name: str, replicas: int, *, cpu: int = 1, **more: object) -> Workload:
    """A workload that asks for whole cores."""
    fields: dict[str, object] = {
        "kind": "Deployment",
        "namespace": "shop",
        "name": name,
        "replicas": replicas,
        "shape": Shape(namespace="shop", labels=(("app", name),), request=(("cpu", cpu * CPU), ("pods", 1))),
    }
    return Workload(**(fields | more))  # type: ignore[arg-type]  # the fields are those of the class


def nodes(**cpus: int) -> list[NodeRecord]:
    """Nodes by name, `od…` on demand and `s…` spot."""
    return [
        NodeRecord(
            name=name,
            allocatable={"cpu": cpu * CPU, "pods": 100},
            labels={"node.kubernetes.io/capacity": "on-demand" if name.startswith("od") else "spot"},
        )
        for name, cpu in cpus.items()
    ]


def site(records: list[NodeRecord], **more: object) -> Site:
    """A site of these nodes."""
    return Site(**({"name": "", "nodes": node_state(records), "population": Population()} | more))  # type: ignore[arg-type]


def placed(path: Path, given_site: Site) -> dict[str, dict[str, int]]:
    """The new replicas of a path: tier → node → count."""
    return {each.part.tier: dict(spots(each, given_site.nodes.names)) for each in path.parts if each.placed}


def planned(given_site: Site, *workloads: Workload) -> SitePlan:
    """Plan workloads with the replicas they ask for."""
    return plan_site(given_site, [(each, each.replicas) for each in workloads])


def test_tiers_lead_the_first_replicas_to_on_demand_and_the_rest_to_spot() -> None:
    """Two of five must be on demand; spot is level; nothing is left."""
    here = site(nodes(od1=4, od2=4, s1=4, s2=4))
    path = planned(here, shop("web", 5, tiered=True, min_available="2")).paths[0]
    assert placed(path, here) == {"on-demand": {"od1": 1, "od2": 1}, "spot": {"s1": 2, "s2": 1}}
    assert (path.split.target, path.unplaced, path.findings) == (2, 0, ())


def test_spot_that_is_full_overflows_to_on_demand() -> None:
    """Preferring is not requiring."""
    here = site(nodes(od1=8, s1=2))
    path = planned(here, shop("web", 5, tiered=True, min_available="1")).paths[0]
    assert placed(path, here) == {"on-demand": {"od1": 1}, "spot": {"s1": 2, "od1": 2}}


def test_a_single_replica_is_required_on_demand() -> None:
    """One replica must not sit where it may vanish, annotated or not."""
    here = site(nodes(od1=1, s1=9))
    assert placed(planned(here, shop("admin", 1, tiered=True)).paths[0], here) == {"on-demand": {"od1": 1}}


def test_on_demand_that_is_full_leaves_the_required_ones_waiting() -> None:
    """What must be on demand is not put on spot instead, and the reason has numbers."""
    here = site(nodes(od1=1, s1=9))
    path = planned(here, shop("web", 4, tiered=True, min_available="3")).paths[0]
    assert placed(path, here) == {"on-demand": {"od1": 1}, "spot": {"s1": 1}}
    assert path.unplaced == 2
    (finding,) = path.findings
    assert finding.code == "NoNodeFits"
    assert finding.sentence == "2 of 4 found no node: 1 node InsufficientRoom (1 cpu short), 1 node NodeNotSelected"


RUNNING = {
    "nothing runs": (5, 0, 0, [("on-demand", 2), ("spot", 3)]),
    "one required replica runs": (5, 1, 1, [("on-demand", 1), ("spot", 3)]),
    "spot replicas run already": (5, 3, 0, [("on-demand", 2), ("spot", 0)]),
    "only replicas without the requirement run": (5, 5, 0, [("on-demand", 0), ("spot", 0)]),
    "more run than are asked for": (5, 7, 4, [("on-demand", 0), ("spot", 0)]),
}


@pytest.mark.parametrize("name", RUNNING)
def test_parts_count_what_runs(name: str) -> None:
    """What exists is never moved: only what is missing is split."""
    replicas, running, required, want = RUNNING[name]
    got = parts(shop("web", replicas, tiered=True, min_available="2"), replicas, running, required, Tiers())
    assert [(part.tier, part.need) for part in got.parts] == want


def test_parts_of_an_untiered_workload_are_one() -> None:
    """Jobs have no tier."""
    got = parts(shop("job", 3, kind="Job"), 3, 1, 0, Tiers())
    assert [(part.tier, part.need, part.key) for part in got.parts] == [("", 2, "Job/shop/job")]
    assert got.target is None


def test_parts_with_an_unreadable_minimum_warn_and_stay_whole() -> None:
    """Nothing is guessed from a wish that cannot be read."""
    got = parts(shop("web", 3, tiered=True, min_available="many"), 3, 1, 0, Tiers())
    assert [(part.tier, part.running, part.need) for part in got.parts] == [("", 1, 2)]
    assert [each.code for each in got.warnings] == ["InvalidMinimum"]


def test_a_gang_that_does_not_fit_leaves_its_room_to_others() -> None:
    """Three of four would fit: none is started, and the next workload gets the room."""
    here = site(nodes(s1=2, s2=1))
    got = planned(here, shop("gang", 4, kind="Job", least_together=4, priority=5), shop("web", 3))
    gang, web = sorted(got.paths, key=lambda path: path.workload.name)
    assert (placed(gang, here), gang.unplaced) == ({}, 4)
    assert placed(web, here) == {"": {"s1": 2, "s2": 1}}


def test_a_gang_blocked_by_fragments_is_undone() -> None:
    """By sums it fits, by nodes it does not: what was placed on trial is taken back."""
    here = site(nodes(s1=3, s2=3))
    got = planned(here, shop("gang", 3, cpu=2, kind="Job", least_together=3, priority=1), shop("web", 6))
    gang, web = sorted(got.paths, key=lambda path: path.workload.name)
    assert gang.findings[-1].reason == reasons.GANG_DOES_NOT_FIT
    assert gang.findings[-1].details["placeable"] == 2
    assert placed(web, here) == {"": {"s1": 3, "s2": 3}}
    assert got.after.used[:, 0].tolist() == [3 * CPU, 3 * CPU]


def test_queues_share_what_is_short() -> None:
    """Two queues of equal weight want everything: half each, level on the nodes."""
    here = site(nodes(s1=4, s2=4), queues=(QueueEntry(name="a"), QueueEntry(name="b")))
    got = planned(here, shop("x", 9, kind="Job", queue="a"), shop("y", 9, kind="Job", queue="b"))
    assert [placed(path, here) for path in got.paths] == [{"": {"s1": 2, "s2": 2}}] * 2
    assert [path.unplaced for path in got.paths] == [5, 5]
    assert all(path.findings for path in got.paths)


def test_priority_places_first() -> None:
    """Of two that both may start, the more important one finds its nodes first."""
    here = site(nodes(s1=3, s2=3))
    got = planned(here, shop("a", 1, cpu=3), shop("z", 2, cpu=1, priority=7))
    low, high = got.paths
    assert placed(high, here) == {"": {"s1": 1, "s2": 1}}
    assert low.findings[0].code == "NoNodeFits"


def test_strategy_global_greedy_levels_the_use_of_nodes() -> None:
    """By replicas both nodes are equal; by use the emptier one gets more."""
    records = nodes(s1=8, s2=8)
    records[0] = replace(records[0], used={"cpu": 4 * CPU})
    here = site(records)
    even = planned(here, shop("web", 4)).paths[0]
    use = planned(here, shop("web", 4, strategy="global-greedy")).paths[0]
    assert (placed(even, here), placed(use, here)) == ({"": {"s1": 2, "s2": 2}}, {"": {"s2": 4}})


def test_fleet_sends_replicas_to_sites_and_names_those_it_cannot_see() -> None:
    """Six over two clusters, one of which has no nodes here."""
    web = shop("web", 6)
    ask = DivisionAsk(
        workload=DivideWorkload(name="web", replicas=6, uid="u"),
        clusters=cluster_table(["west", "north"], weights=[2, 1]),
        policy=DividePolicy(),
    )
    got = plan(Snapshot(sites=(site(nodes(s1=9), name="west"),), divided=((web, ask),)))
    assert dict(got.divided[0].division.placements) == {"west": 4, "north": 2}
    assert [each.sentence for each in got.divided[0].beyond] == [
        "2 replicas go to cluster north, whose nodes are not part of the snapshot"
    ]
    assert (got.sites[0].paths[0].replicas, got.unplaced) == (4, 0)
    record = plan_record(got)
    assert record["fleet"][0]["placements"] == {"west": 4, "north": 2}
    assert record["sites"][0]["workloads"][0]["parts"] == [{"need": 4, "granted": 4, "placements": {"s1": 4}}]
    assert record["sites"][0]["use"]["after"] == {"lowest": 44.4, "mean": 44.4, "highest": 44.4}


def test_plan_of_an_empty_snapshot_is_empty() -> None:
    """Nothing in, nothing out."""
    got = plan(Snapshot(sites=(site([]),)))
    assert (got.unplaced, plan_record(got)["sites"][0]["nodes"]) == (0, 0)
    assert use_record(node_state([])) == {"lowest": 0.0, "mean": 0.0, "highest": 0.0}


def test_ground_undo_restores_the_nodes() -> None:
    """After an undo the next group sees what was there before."""
    working = WorkingNodes(node_state(nodes(s1=4)), Population())
    zeros, ones = np.zeros(1, np.int64), np.ones(1, np.int64)
    shape = Shape(request=(("cpu", CPU),))
    mark = working.mark()
    assert working.place(shape, 3, (zeros, ones)).counts.tolist() == [3]
    assert len(working.population.rows) == 3
    working.undo(mark)
    assert working.place(shape, 9, {}).counts.tolist() == [4]
    assert len(working.population.residents) == 1


workloads = st.lists(
    st.tuples(
        st.integers(0, 12), st.integers(1, 3), st.integers(1, 4), st.sampled_from([None, "2", "50%"]), st.integers(0, 1)
    ),
    min_size=1,
    max_size=5,
)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), workloads)
def test_plan_never_exceeds_a_node_and_keeps_every_gang_whole(sizes: list[int], asked: list[tuple]) -> None:  # type: ignore[type-arg]
    """Safety on random sites: room kept, tiers kept, gangs whole, every replica accounted for."""
    here = site(nodes(**{f"{'od' if row % 2 else 's'}{row}": size for row, size in enumerate(sizes)}))
    wanted = [
        shop(
            f"w{row}",
            replicas,
            cpu=cpu,
            kind="Deployment" if minimum else "Job",
            tiered=minimum is not None,
            min_available=minimum,
            least_together=1 if minimum else least,
            priority=priority,
        )
        for row, (replicas, cpu, least, minimum, priority) in enumerate(asked)
    ]
    got = planned(here, *wanted)
    assert (got.after.used <= got.after.allocatable).all()
    on_demand = ints([name.startswith("od") for name in here.nodes.names])
    for path in got.paths:
        new = sum(each.placed for each in path.parts)
        assert new + path.unplaced == path.replicas
        assert new == 0 or new >= path.workload.least_together
        assert bool(path.unplaced) == bool(path.findings)
        for each in path.parts:
            assert each.part.tier != "on-demand" or int((each.counts * (1 - on_demand)).sum()) == 0


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_plan_does_not_depend_on_the_order_of_its_input(node_order: list[int], work_order: list[int]) -> None:
    """The same site and workloads in another order give the same plan."""
    records = nodes(od1=3, s2=2, s10=4, od3=1)
    wanted = [shop("a", 4, tiered=True, min_available="1"), shop("b", 3), shop("c", 2, priority=1), shop("d", 5, cpu=2)]
    shuffled = site([records[row] for row in node_order])
    got = planned(shuffled, *(wanted[row] for row in work_order))
    plain = site(records)
    assert [placed(path, shuffled) for path in got.paths] == [
        placed(path, plain) for path in planned(plain, *wanted).paths
    ]
