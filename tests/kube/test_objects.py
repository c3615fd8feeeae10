"""Typed shapes: every field that a scheduler needs is read, the rest is ignored, null means absent."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube import timestamps
from fairlead.kube.codec.fleet import placement_of
from fairlead.kube.decode import decode, drop_nulls
from fairlead.kube.errors import AnswerError
from fairlead.kube.objects.meta import ApiShape
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.workloads import Deployment
from fairlead.kube.resources import (
    ALL,
    CSI_NODES,
    LONGHORN_NODES,
    LONGHORN_REPLICAS,
    NODES,
    PODS,
    RESOURCE_BINDINGS,
    Resource,
)
from fairlead.model.errors import InputError

WHOLE_POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {
        "name": "web-0",
        "managedFields": [{"anything": 1}],
        "ownerReferences": [{"kind": "Node", "name": "x"}, {"kind": "ReplicaSet", "uid": "r-1", "controller": True}],
    },
    "spec": {
        "schedulerName": "fairlead",
        "priority": -5,
        "preemptionPolicy": "Never",
        "nodeSelector": {"disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["3"]}]}]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": {}}],
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["k"]}
                ]
            },
        },
        "tolerations": [{"operator": "Exists"}],
        "topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 3}
        ],
        "containers": [
            {
                "name": "main",
                "resources": {"requests": {"cpu": "100m"}, "claims": [{"name": "gpu"}]},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}],
            }
        ],
        "initContainers": [{"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}],
        "overhead": {"memory": "64Mi"},
        "resources": {"requests": {"cpu": "2"}},
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
            {
                "name": "b",
                "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}},
            },
            {"name": "c", "gcePersistentDisk": {"pdName": "d"}},
        ],
        "schedulingGates": [{"name": "fairlead.io/tier"}],
        "schedulingGroup": {"podGroupName": "gang"},
        "hostNetwork": True,
    },
    "status": {
        "phase": "Pending",
        "nominatedNodeName": "n7",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
        "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "150m"}}],
    },
}


def test_pod_has_every_field_that_a_scheduler_needs() -> None:
    """One pod that uses them all."""
    got = decode(msgspec.json.encode(WHOLE_POD), Pod, "pod")
    spec, status = got.spec, got.status
    assert got.metadata.controller is not None
    assert got.metadata.controller.uid == "r-1"
    assert (spec.priority, spec.preemption_policy, spec.node_selector) == (-5, "Never", {"disk": "ssd"})
    assert spec.affinity is not None
    assert spec.affinity.node_affinity is not None
    assert spec.affinity.node_affinity.required is not None
    term = spec.affinity.node_affinity.required.node_selector_terms[0]
    assert (
        term.match_expressions[0].key,
        term.match_expressions[0].operator,
        term.match_expressions[0].values,
    ) == ("a", "Gt", ("3",))
    assert spec.affinity.node_affinity.preferred[0].weight == 7
    assert spec.affinity.pod_anti_affinity is not None
    assert spec.affinity.pod_anti_affinity.required[0].match_label_keys == ("k",)
    assert spec.tolerations[0].operator == "Exists"
    assert (spec.topology_spread_constraints[0].max_skew, spec.topology_spread_constraints[0].min_domains) == (2, 3)
    assert (spec.containers[0].ports[0].host_port, spec.containers[0].ports[0].host_ip) == (8080, "10.0.0.1")
    assert (
        spec.containers[0].resources.claims[0].name,
        spec.containers[0].resources.requests["cpu"],
    ) == ("gpu", "100m")
    assert spec.init_containers[0].restart_policy == "Always"
    assert spec.resources is not None
    assert (spec.overhead, spec.resources.requests) == ({"memory": "64Mi"}, {"cpu": "2"})
    assert len(spec.resource_claims) == 1
    claim, ephemeral, disk = spec.volumes
    assert claim.persistent_volume_claim is not None
    assert claim.persistent_volume_claim.claim_name == "c"
    assert ephemeral.ephemeral is not None
    assert ephemeral.ephemeral.volume_claim_template.spec.resources.requests == {"storage": "1Gi"}
    assert disk.gce_persistent_disk is not None
    assert (disk.gce_persistent_disk.pd_name, disk.gce_persistent_disk.read_only) == ("d", False)
    assert spec.scheduling_group is not None
    assert (spec.scheduling_gates[0].name, spec.scheduling_group.pod_group_name) == ("fairlead.io/tier", "gang")
    assert (status.nominated_node_name, status.conditions[0].reason) == ("n7", "Unschedulable")
    assert status.container_statuses[0].allocated_resources == {"cpu": "150m"}
    assert not got.finished


def test_names_that_break_the_rule_are_read() -> None:
    """nodeID, diskUUID and the like are written as their projects write them."""
    node = {"status": {"diskStatus": {"d": {"diskUUID": "u", "storageAvailable": 5}}}, "spec": {"disks": {"d": {}}}}
    assert decode(msgspec.json.encode(node), LONGHORN_NODES.shape, "").status.disk_status["d"].disk_uuid == "u"
    replica = {"spec": {"nodeID": "n", "diskID": "d", "volumeSize": "1073741824"}}
    got = decode(msgspec.json.encode(replica), LONGHORN_REPLICAS.shape, "").spec
    assert (got.node_id, got.disk_id, got.volume_size) == ("n", "d", "1073741824")
    drivers = {"spec": {"drivers": [{"name": "d", "nodeID": "x", "allocatable": {"count": 3}}]}}
    driver = decode(msgspec.json.encode(drivers), CSI_NODES.shape, "").spec.drivers[0]
    assert driver.allocatable is not None
    assert driver.allocatable.count == 3


def test_null_means_absent() -> None:
    """Go writes null for empty lists and unset times."""
    body = {"metadata": {"creationTimestamp": None, "labels": None}, "spec": {"containers": None, "priority": None}}
    assert Pod() == decode(msgspec.json.encode(body), Pod, "pod")
    assert decode(b'{"spec": {"drivers": null}}', CSI_NODES.shape, "").spec.drivers == ()
    template = b'{"spec": {"replicas": 3, "template": {"metadata": {"creationTimestamp": null}}}}'
    assert decode(template, Deployment, "").spec.replicas == 3


def test_defaults_of_karmada_hold_inside_the_block_only() -> None:
    """No replicaScheduling at all is not the same as an empty one."""
    empty = decode(b'{"spec": {"placement": {"replicaScheduling": {}}}}', RESOURCE_BINDINGS.shape, "").spec
    absent = decode(b'{"spec": {"placement": {}}}', RESOURCE_BINDINGS.shape, "").spec
    assert placement_of(absent.placement, "b").replica_scheduling is None
    scheduling = placement_of(empty.placement, "b").replica_scheduling
    assert scheduling is not None
    assert scheduling.replica_scheduling_type == "Divided"


def test_node_is_ready_only_by_its_condition() -> None:
    """Unknown is not ready."""
    for status, want in (("True", True), ("False", False), ("Unknown", False)):
        body = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
        assert want == decode(msgspec.json.encode(body), NODES.shape, "").ready
    assert not decode(b"{}", NODES.shape, "").ready


SHAPES = [each for each in ALL if isinstance(each.shape, type) and issubclass(each.shape, ApiShape)]


@pytest.mark.parametrize("resource", SHAPES, ids=lambda each: each.label)
def test_empty_object_of_every_kind_decodes(resource: Resource[Any]) -> None:
    """Every field has a default: what a server leaves out is not missed."""
    got = decode(b'{"metadata": {"name": "x"}, "unknown": [1]}', resource.shape, "")
    assert got.metadata.name == "x"
    assert msgspec.json.decode(msgspec.json.encode(got)) == {"metadata": {"name": "x"}}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["metadata", "spec", "status", "containers", "labels", "name"]), inner)
        ),
        max_leaves=12,
    )
)
def test_any_answer_is_decoded_or_is_our_error(tree: Any) -> None:
    """Nothing but AnswerError comes out of a decode."""
    body = msgspec.json.encode(tree)
    try:
        got = decode(body, PODS.shape, "GET pods")
    except AnswerError as error:
        said = str(error)
        assert said.startswith("GET pods: ")
    else:
        assert isinstance(got, Pod)


def test_nulls_are_dropped_from_objects_only() -> None:
    """A null in a list keeps its place."""
    assert drop_nulls({"a": None, "b": [None, {"c": None}], "d": 0}) == {"b": [None, {}], "d": 0}


@given(st.integers(0, 4_000_000_000_000_000))
def test_times_go_there_and_back(micros: int) -> None:
    """Microseconds survive the text form of Leases and Events, whole seconds that of metadata."""
    text = timestamps.micro(micros / 1e6)
    assert abs(timestamps.seconds(text) - micros / 1e6) < 2e-6
    assert timestamps.seconds(timestamps.whole(micros // 1_000_000)) == micros // 1_000_000


@pytest.mark.parametrize("text", ["", "soon", "2026-01-01", "2026-01-01T00:00:00", "9" * 400])
def test_other_texts_are_no_times(text: str) -> None:
    """A time without a zone is not accepted."""
    with pytest.raises(InputError, match="expected a time such as"):
        timestamps.seconds(text)
