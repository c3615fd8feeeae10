"""In-tree disks at work: limits of the drivers that took over, zones where they did, and disks that pods name."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.volumes.claim_cache import ClaimCache
from fairlead.kube.volumes.csi_migration import MIGRATED_PLUGINS
from fairlead.levels.node.constraints import reasons
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.pod_sets import PodSetOutcome, grouped
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.scheduler.decide import decide
from tests.live.test_scheduler_storage import BOUND, claim, storage, tell

EBS, ZONE = "ebs.csi.aws.com", "topology.kubernetes.io/zone"
RECORDS = Records()
CLASS = {
    "metadata": {"name": "old"},
    "provisioner": "kubernetes.io/aws-ebs",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def csi_node(name: str, most: int = 1, migrated: str = "") -> dict[str, Any]:
    """What the drivers of a node say: the limit of EBS, and which plugins are migrated."""
    return {
        "metadata": {"name": name, "annotations": {MIGRATED_PLUGINS: migrated} if migrated else {}},
        "spec": {"drivers": [{"name": EBS, "nodeID": "x", "allocatable": {"count": most}}]},
    }


def ebs(name: str) -> dict[str, Any]:
    """An in-tree volume."""
    return {
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "awsElasticBlockStore": {"volumeID": f"vol-{name}"}},
    }


def pod(name: str, *claims: str, disks: tuple[dict[str, Any], ...] = (), **spec: Any) -> PodRecord:
    """A pod with claims, and disks that it names itself."""
    volumes: list[dict[str, Any]] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    volumes += [{"name": f"d{number}", **each} for number, each in enumerate(disks)]
    body = {"metadata": {"name": name, "namespace": "shop", "uid": name}, "spec": {"volumes": volumes, **spec}}
    return RECORDS.record(msgspec.convert(body, Pod))


def named(volume: str) -> dict[str, Any]:
    """An EBS disk in a pod."""
    return {"awsElasticBlockStore": {"volumeID": volume}}


def full() -> ClaimCache:
    """A node that takes one EBS volume and has one."""
    made = storage(
        storageclasses=[CLASS],
        csinodes=[csi_node("n1")],
        persistentvolumeclaims=[
            claim("a", volume="a"),
            claim("b", volume="b"),
            claim("half", volume="b", annotations={}),
            claim("open", storage_class="old"),
            claim("gone", volume="none", storage_class="old"),
        ],
        persistentvolumes=[ebs("a"), ebs("b")],
    )
    made.count(pod("one", "a"), "n1")
    return made


@pytest.mark.parametrize("name", ["b", "half", "open", "gone"])
def test_migrated_volumes_count_in_the_limit(name: str) -> None:
    """Bound, named but not confirmed, to be made by a migrated class, and bound to a volume that is gone."""
    assert full().crowded(pod("two", name)) == ("n1",)


def test_migrated_volume_that_is_there_adds_nothing() -> None:
    """The same volume through its claim, or named in the pod."""
    made = full()
    assert made.crowded(pod("two", "a")) == ()
    assert made.crowded(pod("two", disks=(named("vol-a"),))) == ()
    assert made.crowded(pod("two", disks=(named("aws://zone/vol-a"),))) == ()


def test_disk_named_in_a_pod_counts_while_the_pod_is_there() -> None:
    """It takes a place among the volumes of its driver, and gives it back."""
    made = storage(csinodes=[csi_node("n1")])
    first, second = pod("one", disks=(named("vol-1"),)), pod("two", disks=(named("vol-2"),))
    assert first.alone
    made.count(first, "n1")
    assert made.demand(second).crowded == ("n1",)
    made.uncount(first, "n1")
    assert made.demand(second).crowded == ()


def test_attachment_counts_under_its_attacher() -> None:
    """One without an attacher, or of a volume that no driver knows, does not count."""
    spec = {"nodeName": "n1", "source": {"persistentVolumeName": "csi"}}
    csi = {"metadata": {"name": "csi"}, "spec": {"csi": {"driver": EBS, "volumeHandle": "vol-csi"}}}
    for attacher, of, crowded in ((EBS, "csi", ("n1",)), ("", "csi", ()), (EBS, "a", ())):
        made = storage(
            csinodes=[csi_node("n1")],
            persistentvolumes=[csi, ebs("a")],
            volumeattachments=[
                {
                    "metadata": {"name": "x"},
                    "spec": {**spec, "attacher": attacher, "source": {"persistentVolumeName": of}},
                }
            ],
        )
        assert made.crowded(pod("p", disks=(named("vol-9"),))) == crowded


def nodes(cache: Cache, *names: str) -> None:
    """Nodes in zone a by the general label, in zone b by that of the driver; `n2` alone declares a feature."""
    for name in names:
        labels = {ZONE: "a", f"topology.{EBS}/zone": "b"}
        features = {"declaredFeatures": ["RestartAllContainersOnContainerExits"]} if name == "n2" else {}
        body = {
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": "4", "pods": "9"}, **features},
        }
        cache.on_node(Change("added", msgspec.convert(body, Node)))


def decided(cache: Cache, *pods: PodRecord) -> list[PodSetOutcome]:
    """What becomes of these pods."""
    return decide(cache.view(), grouped(pods), cache.per_node, cache.storage.demand)


def test_zones_are_those_of_the_driver_where_it_took_over() -> None:
    """A volume in zone b by its label: n2 says that EBS is migrated there and has the driver's label, n1 does not."""
    cache = Cache()
    nodes(cache, "n1", "n2")
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}
    volume = ebs("a")
    volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    tell(cache.storage, "persistentvolumes", "added", volume)
    tell(cache.storage, "persistentvolumeclaims", "added", claim("a", volume="a", annotations=BOUND))
    user = pod("p", "a")
    (outcome,) = decided(cache, user)
    assert outcome.waiting == (user,)
    tell(cache.storage, "csinodes", "added", csi_node("n2", 5, "kubernetes.io/gce-pd,kubernetes.io/aws-ebs"))
    (outcome,) = decided(cache, user)
    assert outcome.placed == ((user, "n2"),)
    tell(cache.storage, "csinodes", "modified", csi_node("n2", 5, "kubernetes.io/gce-pd"))
    (outcome,) = decided(cache, user)
    assert outcome.waiting == (user,)


def test_disk_that_another_pod_has_keeps_it_from_the_node() -> None:
    """EBS is never shared on a node; a GCE disk is, where all only read it."""
    cache = Cache()
    nodes(cache, "n1")
    reads = {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}
    there = pod("there", disks=(named("vol-1"), reads), nodeName="n1")
    cache.on_pod(Change("added", there))
    for disk, reason in (
        (named("vol-1"), reasons.DISK_TAKEN),
        (named("vol-2"), None),
        (reads, None),
        ({"gcePersistentDisk": {"pdName": "d"}}, reasons.DISK_TAKEN),
    ):
        (outcome,) = decided(cache, pod("p", disks=(disk,)))
        assert [each.reason for each in outcome.rejected] == ([] if reason is None else [reason])


def test_pod_that_needs_a_feature_goes_where_it_is_declared() -> None:
    """kube-scheduler's NodeDeclaredFeatures: restarts of all containers, user namespaces on the host's network."""
    rules = [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]
    for spec in ({"containers": rules}, {"initContainers": rules}):
        cache = Cache()
        nodes(cache, "n1")
        user = pod("p", **spec)
        (outcome,) = decided(cache, user)
        assert [each.reason for each in outcome.rejected] == [reasons.FEATURE_MISSING]
        nodes(cache, "n2")
        (outcome,) = decided(cache, user)
        assert outcome.placed == ((user, "n2"),)


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({"hostNetwork": True, "hostUsers": False}, ("UserNamespacesHostNetworkSupport",)),
        ({"hostNetwork": True, "hostUsers": True}, ()),
        ({"hostNetwork": True}, ()),
        ({"hostUsers": False}, ()),
        ({"containers": [{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]}, ()),
    ],
)
def test_features_that_a_pod_needs(spec: dict[str, Any], needed: tuple[str, ...]) -> None:
    """As component-helpers 0.36.3 infers them for scheduling."""
    assert pod("p", **spec).shape.features == needed


def test_disk_that_its_driver_cannot_attach_is_said() -> None:
    """The pod is not placed, and the message names the volume."""
    broken = pod("p", disks=({"azureDisk": {"diskURI": "u", "kind": "Dedicated"}},)).broken
    assert broken == "volume d0: disk.csi.azure.com cannot attach this disk"
