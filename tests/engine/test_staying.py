"""A changed plan beside the one before it: the same numbers as decided anew, and replicas that stay where they were."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlead.engine import whatif
from fairlead.engine.compare import compare
from fairlead.engine.plan import Plan, plan
from fairlead.engine.record import plan_record
from fairlead.kube.manifests.view import viewed
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population
from fairlead.model.selectors import LabelSelector, Operator, Requirement
from fairlead.model.shape import Neighbour, Shape
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.workload import Workload
from tests.props.random_clusters import Cluster, clusters, site_of

SHOP = Path(__file__).parents[2] / "examples" / "shop"
HOST = "kubernetes.io/hostname"


def workload(name: str, replicas: int, cpu: int = 1, **more: object) -> Workload:
    """A workload; `more` are fields of its shape."""
    fields: dict[str, object] = {"labels": (("app", name),), "request": (("cpu", cpu), ("pods", 1))}
    shape = Shape(namespace="shop", **(fields | more))  # type: ignore[arg-type]  # fields of the class
    return Workload(kind="Deployment", namespace="shop", name=name, replicas=replicas, shape=shape)


def scene(cpus: Mapping[str, int], *workloads: Workload) -> Snapshot:
    """Nodes of so many cores, on which nothing runs yet."""
    records = [
        NodeRecord(name=name, allocatable={"cpu": cpu, "pods": 99}, labels={HOST: name}) for name, cpu in cpus.items()
    ]
    site = Site(name="", nodes=node_state(records), population=Population(), workloads=workloads)
    return Snapshot(sites=(site,))


def spots(made: Plan, name: str) -> dict[str, int]:
    """Node → replicas of the workload."""
    site = made.sites[0]
    path = next(each for each in site.paths if each.workload.name == name)
    counts = np.sum([part.counts for part in path.parts], axis=0)
    return {site.before.names[row]: int(counts[row]) for row in np.flatnonzero(counts).tolist()}


def numbers(made: Plan) -> list[list[int]]:
    """Replicas placed, by cluster, workload and part."""
    return [[part.placed for path in site.paths for part in path.parts] for site in made.sites]


def moves(now: Plan, then: Plan) -> int:
    """As `fairlead plan` counts them."""
    found: int = compare(plan_record(now), plan_record(then))["moves"]
    return found


def test_only_what_was_on_a_drained_node_moves() -> None:
    """One of api goes from n1 to n3. Anew, web would leave n3 for n2, which has more room then."""
    view = scene({"n1": 5, "n2": 6, "n3": 4}, workload("api", 2, 3), workload("web", 1))
    now, then = plan(view), whatif.drained(view, "n1")
    anew, after = plan(then), plan(then, after=now)
    assert (spots(now, "api"), spots(now, "web")) == ({"n1": 1, "n2": 1}, {"n3": 1})
    assert (spots(anew, "api"), spots(anew, "web")) == ({"n2": 1, "n3": 1}, {"n2": 1})
    assert (spots(after, "api"), spots(after, "web")) == ({"n2": 1, "n3": 1}, {"n3": 1})


def test_nothing_moves_for_the_sake_of_new_nodes() -> None:
    """Replicas stay, though anew one would go to each of the new nodes."""
    view = scene({"n1": 8, "n2": 8}, workload("web", 4))
    now = plan(view)
    then = whatif.extended(view, 2, "n1")
    assert spots(plan(then), "web") == {"n1": 1, "n2": 1, "n1-more-1": 1, "n1-more-2": 1}
    assert spots(plan(then, after=now), "web") == {"n1": 2, "n2": 2}


def test_new_replicas_go_where_the_workload_has_fewest() -> None:
    """Four stay on two nodes; of three more one each goes to the new nodes, and one beside."""
    view = scene({"n1": 8, "n2": 8}, workload("web", 4))
    then = whatif.scaled(whatif.extended(view, 2, "n1"), "web", 7)
    assert sorted(spots(plan(then, after=plan(view)), "web").values()) == [1, 2, 2, 2]


def test_where_fewer_are_left_they_leave_all_nodes_alike() -> None:
    """Four of six stay: no node keeps three."""
    view = scene({"n1": 3, "n2": 3}, workload("web", 6))
    then = whatif.scaled(view, "web", 4)
    assert spots(plan(then, after=plan(view)), "web") == {"n1": 2, "n2": 2}


def test_replicas_apart_from_each_other_stay_on_their_nodes() -> None:
    """One a node: both stay though n2 has most room now, and a third goes there."""
    own = LabelSelector((Requirement("app", Operator.IN, ("web",)),))
    web = workload("web", 2, far=(Neighbour(key=HOST, selector=own),))
    now = plan(scene({"n1": 7, "n2": 1, "n3": 6}, web))
    then = scene({"n1": 7, "n2": 8, "n3": 6}, web)
    assert (spots(now, "web"), spots(plan(then), "web")) == ({"n1": 1, "n3": 1}, {"n1": 1, "n2": 1})
    assert spots(plan(then, after=now), "web") == {"n1": 1, "n3": 1}
    assert spots(plan(whatif.scaled(then, "web", 3), after=now), "web") == {"n1": 1, "n2": 1, "n3": 1}


def test_where_staying_leaves_a_replica_without_a_node_the_plan_is_made_anew() -> None:
    """web comes first and was on the only node that api may use; anew it goes to the roomier one."""
    web, api = workload("web", 1), workload("api", 1, 3, node_selector=((HOST, "n1"),))
    first = replace(web, priority=1)
    now = plan(scene({"n1": 3, "n2": 0}, first))
    then = plan(scene({"n1": 3, "n2": 4}, first, api), after=now)
    assert (spots(now, "web"), spots(then, "web"), spots(then, "api")) == ({"n1": 1}, {"n2": 1}, {"n1": 1})


def test_the_shop_without_a_node_moves_no_more_than_it_must() -> None:
    """Seven replicas leave west-od-1, of which two more wait than now; one makes way on a node that stays."""
    _, view = viewed([str(SHOP)])
    now = plan(view)
    then = plan(whatif.drained(view, "west-od-1"), after=now)
    assert (moves(now, then), now.unplaced, then.unplaced) == (6, 6, 8)


def test_the_shop_without_a_zone_keeps_the_shares_of_its_queues() -> None:
    """24 cores in the ratio 2:3, as far as whole replicas go: 9.6 and 14.4, though 12 and 12 would start one more."""
    _, view = viewed([str(SHOP)])
    made = plan(whatif.lost(view, "zone", "eu-west-b"))
    west = next(site for site in made.sites if site.site.name == "west")
    held = {row.name: (row.deserved["cpu"], row.allocated["cpu"]) for row in west.sharing.queues if row.allocated}
    assert {name: held[name] for name in ("online", "batch")} == {"online": (9_600, 9_500), "batch": (14_400, 14_000)}
    assert made.unplaced == 18


@given(clusters(), st.data())
def test_a_plan_after_another_has_the_numbers_of_one_made_anew_and_no_more_moves(
    cluster: Cluster, data: st.DataObject
) -> None:
    """Any rules, any node drained: staying costs nobody a replica."""
    view = Snapshot(sites=(site_of(cluster),))
    now = plan(view)
    then = whatif.drained(view, data.draw(st.sampled_from(view.sites[0].nodes.names)))
    anew, after = plan(then), plan(then, after=now)
    assert numbers(after) == numbers(anew)
    assert moves(now, after) <= moves(now, anew)
