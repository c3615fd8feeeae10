"""The pods of a cluster as columns say what the pods say one by one."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.codec.memo import Shapes
from fairlead.kube.codec.requests import request_of_pod
from fairlead.kube.manifests.controllers import pods_by_owner
from fairlead.kube.manifests.site_pods import site_pods
from fairlead.kube.objects.fixed import MIRROR, belongs_to_node
from fairlead.kube.objects.meta import OwnerReference
from fairlead.kube.objects.pod import Pod
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeRecord, node_state

NODES = node_state([NodeRecord(name=name, allocatable={}) for name in ("n0", "n1")])
"""n2, which some pods name, is not there."""


def pod(
    number: int, node: str = "", cpu: int = 1, app: str = "a", phase: str = "", owner: str = "", held: int = 0
) -> Pod:
    """A pod of one container; `held` is what a resize has in force."""
    meta: dict[str, Any] = {"name": f"p{number}", "namespace": "x", "labels": {"app": app}}
    if owner:
        meta["ownerReferences"] = [{"kind": owner, "name": "o", "controller": True}]
    if number % 3 == 0:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    resources = {"requests": {"cpu": cpu}}
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": resources}], "nodeName": node}
    status: dict[str, Any] = {"phase": phase}
    if held:
        status["containerStatuses"] = [{"name": "c", "resources": {"requests": {"cpu": held}}}]
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Pod)


PODS = st.lists(
    st.tuples(
        st.sampled_from(["", "n0", "n1", "n2", 'n"']),
        st.integers(1, 3),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["", "Running", "Succeeded", "Failed"]),
        st.sampled_from(["", "ReplicaSet", "DaemonSet", "Node"]),
        st.sampled_from([0, 0, 5]),
    ),
    max_size=12,
)


@given(PODS)
def test_columns_count_what_the_pods_say(given: list[tuple[str, int, str, str, str, int]]) -> None:
    """What is used on each node, who runs where, what is lost, and what belongs to its node."""
    pods = [pod(number, *each) for number, each in enumerate(given)]
    bound = [each for each in pods if each.spec.node_name and not each.finished]
    found = site_pods(pods)
    for fixed in (False, True):
        wanted: dict[str, Counter[str]] = {}
        for each in bound:
            if not fixed or belongs_to_node(each):
                wanted.setdefault(each.spec.node_name, Counter()).update(request_of_pod(each))
        assert found.used(fixed=fixed) == wanted
    assert [*found.fixed, *found.movable] == sorted(pods, key=lambda each: not belongs_to_node(each))
    assert {each.metadata.name for each in found.lost(NODES)} == {
        each.metadata.name for each in bound if each.spec.node_name not in NODES.rows
    }
    there = [each for each in (*found.fixed, *found.movable) if each in bound and each.spec.node_name in NODES.rows]
    assert found.fixed_on(NODES) == sum(map(belongs_to_node, there))
    population = found.population(NODES, ())
    seen = [
        (population.residents[code].labels, NODES.names[row], bool(leaving))
        for code, row, leaving in zip(population.codes, population.rows, population.leaving, strict=True)
    ]
    assert seen == [
        ((("app", each.metadata.labels["app"]),), each.spec.node_name, each.metadata.deletion_timestamp is not None)
        for each in there
    ]
    assert len(set(population.residents)) == len(population.residents)


@given(PODS, st.booleans(), st.integers(1, 3))
def test_pods_of_one_owner_are_found_together(
    given: list[tuple[str, int, str, str, str, int]], replaced: bool, most: int
) -> None:
    """As pod by pod, in the same order, however few templates are remembered; a ReplicaSet may have an owner itself."""
    owners = {("x", "o"): OwnerReference(kind="Deployment", name="d", controller=True)} if replaced else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairlead.kube.manifests.site_pods.MOST", most)
        found = site_pods([pod(number, *each) for number, each in enumerate(given)])
    for fixed, pods in ((True, found.fixed), (False, found.movable)):
        wanted = pods_by_owner(pods, owners)
        assert list(found.owned(owners, fixed=fixed).items()) == list(wanted.items())


def test_a_pod_that_mirrors_a_static_one_belongs_to_its_node() -> None:
    """One template, told apart by the annotation alone."""
    plain = pod(1, "n0")
    mirror = msgspec.structs.replace(plain, metadata=msgspec.structs.replace(plain.metadata, annotations={MIRROR: "1"}))
    found = site_pods([plain, mirror, plain])
    assert (found.fixed, found.movable) == ([mirror], [plain, plain])


def test_a_spec_that_cannot_be_read_is_refused_and_the_others_stay() -> None:
    """Who asks to be told is told; who does not gets the error."""
    bad = msgspec.convert({"metadata": {"name": "b"}, "spec": {"overhead": {"cpu": "x"}}}, Pod)
    told: list[str] = []
    found = site_pods([pod(1), bad], lambda each, error: told.append(each.metadata.name))
    assert ([each.metadata.name for each in found.movable], told) == (["p1"], ["b"])
    with pytest.raises(InputError, match="overhead"):
        site_pods([bad])


def test_alike_pods_have_one_shape_wherever_they_run() -> None:
    """The node, whatever it is called, and what schedules the pod make no difference; the request does."""
    shapes = Shapes()
    here = shapes.of_pod(pod(1, "n0"))
    assert shapes.of_pod(pod(2)) is here
    assert shapes.of_pod(pod(3, 'n"\\é')) is here
    other = pod(4, "n1")
    scheduled = msgspec.structs.replace(other, spec=msgspec.structs.replace(other.spec, scheduler_name="s"))
    assert shapes.of_pod(scheduled) is here
    assert shapes.of_pod(pod(5, "n0", cpu=2))[0] != here[0]
