"""In-tree disks: which clash, which driver has each, what it calls it; as csi-translation-lib 0.36.3 has it."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.disks import as_the_driver_says, attached, driver_of, exclusive, handle_of, plugin_of
from fairlead.kube.objects.pod import PodVolume
from fairlead.kube.objects.storage import PersistentVolume
from fairlead.model.shape import PodDisk

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"


def disk(**fields: Any) -> tuple[PodVolume, ...]:
    """The volumes of a pod, one of them this disk."""
    return msgspec.convert([{"name": "token"}, {"name": "v", **fields}], tuple[PodVolume, ...])


def volume(source: dict[str, Any], labels: dict[str, str] | None = None, *terms: dict[str, Any]) -> PersistentVolume:
    """A PersistentVolume with this source; terms of node affinity where there are any."""
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}} if terms else {}
    return msgspec.convert({"metadata": {"labels": labels or {}}, "spec": {**source, **affinity}}, PersistentVolume)


GCE = {"gcePersistentDisk": {"pdName": "d"}}
AWS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
EXCLUSIVE: dict[str, tuple[dict[str, Any], PodDisk | None]] = {
    "GCE": (GCE, PodDisk(kind="gce", name="d")),
    "GCE, to read": (
        {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
        PodDisk(kind="gce", name="d", read_only=True),
    ),
    "EBS, to read or not": (
        {"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True}},
        PodDisk(kind="aws", name="vol-1"),
    ),
    "iSCSI": ({"iscsi": {"iqn": "i", "lun": 3}}, PodDisk(kind="iscsi", name="i")),
    "Ceph": (
        {"rbd": {"monitors": ["m2", "m1"], "image": "i"}},
        PodDisk(kind="rbd", name="rbd/i", hosts=("m1", "m2")),
    ),
    "Azure": ({"azureDisk": {"diskURI": "u"}}, None),
    "a claim": ({"persistentVolumeClaim": {"claimName": "c"}}, None),
}


@pytest.mark.parametrize("name", EXCLUSIVE)
def test_disks_that_pods_may_not_share(name: str) -> None:
    """GCE, EBS, iSCSI and Ceph, as VolumeRestrictions has it; no others."""
    given, want = EXCLUSIVE[name]
    assert (() if want is None else (want,)) == exclusive(disk(**given))


def test_clash_of_disks() -> None:
    """The same disk, unless both only read it; Ceph's only through a common monitor."""
    wide, other = PodDisk(kind="rbd", name="a", hosts=("x", "y")), PodDisk(kind="rbd", name="a", hosts=("z",))
    reader = PodDisk(kind="gce", name="d", read_only=True)
    assert PodDisk(kind="gce", name="d").clashes(reader)
    assert not reader.clashes(reader)
    assert not reader.clashes(PodDisk(kind="iscsi", name="d"))
    assert wide.clashes(PodDisk(kind="rbd", name="a", hosts=("y",)))
    assert not wide.clashes(other)
    assert not PodDisk(kind="rbd", name="a", hosts=()).clashes(PodDisk(kind="rbd", name="a", hosts=()))


HANDLES: dict[str, tuple[dict[str, Any], dict[str, str], str, str]] = {
    "GCE without a zone": (GCE, {}, "pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
    "GCE in a zone": (GCE, {ZONE: "a-b-c"}, "pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/a-b-c/disks/d"),
    "GCE, the older label first": (
        GCE,
        {ZONE: "x", OLD_ZONE: "a-b-c"},
        "pd.csi.storage.gke.io",
        "projects/UNSPECIFIED/zones/a-b-c/disks/d",
    ),
    "GCE in two zones": (
        GCE,
        {ZONE: "a-b-c__a-b-d"},
        "pd.csi.storage.gke.io",
        "projects/UNSPECIFIED/regions/a-b/disks/d",
    ),
    "GCE in two regions": (GCE, {ZONE: "a-b-c__a-x-d"}, "pd.csi.storage.gke.io", ""),
    "GCE in zones of no region": (GCE, {ZONE: "a__b"}, "pd.csi.storage.gke.io", ""),
    "EBS": (AWS, {}, "ebs.csi.aws.com", "vol-1"),
    "EBS as an address": (
        {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}},
        {},
        "ebs.csi.aws.com",
        "vol-1",
    ),
    "EBS as a bad address": ({"awsElasticBlockStore": {"volumeID": "aws://us/x"}}, {}, "ebs.csi.aws.com", ""),
    "Azure": ({"azureDisk": {"diskURI": "u", "kind": "Managed"}}, {}, "disk.csi.azure.com", "u"),
    "Azure of another kind": ({"azureDisk": {"diskURI": "u", "kind": "Shared"}}, {}, "disk.csi.azure.com", ""),
    "Cinder": ({"cinder": {"volumeID": "c"}}, {}, "cinder.csi.openstack.org", "c"),
    "Portworx": ({"portworxVolume": {"volumeID": "p"}}, {}, "pxd.portworx.com", "p"),
}


@pytest.mark.parametrize("name", HANDLES)
def test_driver_and_name_of_a_volume(name: str) -> None:
    """The driver that took over, and what it calls the disk; empty where it cannot have it."""
    source, labels, driver, handle = HANDLES[name]
    made = volume(source, labels)
    plugin = plugin_of(made.spec)
    assert plugin is not None
    assert (plugin.driver, handle_of(made.spec, labels)) == (driver, handle)


def test_volumes_that_no_limit_counts() -> None:
    """vSphere and Azure Files are migrated, but not counted; nor are volumes of drivers that never were in-tree."""
    for source in ({"vsphereVolume": {"volumePath": "p"}}, {"azureFile": {"shareName": "s"}}, {"nfs": {"path": "/"}}):
        assert plugin_of(volume(source).spec) is None
        assert attached(disk(**source)) == ()
    assert driver_of("kubernetes.io/vsphere-volume") == driver_of("kubernetes.io/azure-file") == ""
    assert driver_of("kubernetes.io/aws-ebs") == "ebs.csi.aws.com"
    assert driver_of("disk.example.com") == "disk.example.com"


def test_disks_of_a_pod_that_count() -> None:
    """Each once; one that its driver cannot attach is an error."""
    both = (*disk(**AWS), *disk(**AWS), *disk(cinder={"volumeID": "c"}))
    assert attached(both) == (("cinder.csi.openstack.org", "c"), ("ebs.csi.aws.com", "vol-1"))
    with pytest.raises(ValueError, match=r"volume v: disk.csi.azure.com cannot attach this disk"):
        attached(disk(azureDisk={"diskURI": "u", "kind": "Dedicated"}))


def needs(key: str, *values: str) -> dict[str, Any]:
    """An expression."""
    return {"key": key, "operator": "In", "values": list(values)}


EBS_ZONE = "topology.ebs.csi.aws.com/zone"
TERMS: dict[str, tuple[PersistentVolume, list[list[tuple[str, tuple[str, ...]]]]]] = {
    "nothing said": (volume(AWS), []),
    "a zone in the terms": (
        volume(AWS, {ZONE: "ignored"}, {"matchExpressions": [needs(ZONE, "a"), needs("x", "y")]}),
        [[(EBS_ZONE, ("a",)), ("x", ("y",))]],
    ),
    "the older zone and region in the terms": (
        volume(AWS, {}, {"matchExpressions": [needs(OLD_ZONE, "a"), needs(OLD_REGION, "r")]}),
        [[(EBS_ZONE, ("a",)), ("topology.kubernetes.io/region", ("r",))]],
    ),
    "zones in a label": (volume(AWS, {ZONE: "b__ a"}), [[(EBS_ZONE, ("a", "b"))]]),
    "an older label, and terms about something else": (
        volume(AWS, {OLD_ZONE: "a"}, {"matchExpressions": [needs("x", "y")]}),
        [[("x", ("y",)), (EBS_ZONE, ("a",))]],
    ),
    "an empty label": (volume(AWS, {ZONE: ""}), []),
    "a driver without a label of its own": (
        volume({"portworxVolume": {"volumeID": "p"}}, {}, {"matchExpressions": [needs(ZONE, "a")]}),
        [[(ZONE, ("a",))]],
    ),
}


@pytest.mark.parametrize("name", TERMS)
def test_zones_under_the_label_of_the_driver(name: str) -> None:
    """Zones of the terms are renamed; those of labels are added to every term."""
    given, want = TERMS[name]
    plugin = plugin_of(given.spec)
    assert plugin is not None
    moved = as_the_driver_says(given, plugin)
    assert moved is not None
    affinity = moved.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    assert [[(each.key, each.values) for each in term.match_expressions] for term in terms] == want


def test_volume_that_the_driver_cannot_have() -> None:
    """It is nowhere to be reached once the driver is in charge."""
    lost = volume(GCE, {ZONE: "a__b"})
    plugin = plugin_of(lost.spec)
    assert plugin is not None
    assert as_the_driver_says(lost, plugin) is None
