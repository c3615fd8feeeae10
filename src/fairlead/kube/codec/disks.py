"""In-tree disks as kube-scheduler 1.36 counts them: which clash on a node, and which driver has taken over each.

What is written here is `volumerestrictions`, `nodevolumelimits` and `k8s.io/csi-translation-lib` (decisions/0231).
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import msgspec

from fairlead.dataclass import dataclass
from fairlead.kube.objects.affinity import NodeSelector, NodeSelectorTerm
from fairlead.kube.objects.meta import RequirementSpec
from fairlead.kube.objects.pod import PodVolume
from fairlead.kube.objects.storage import PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity
from fairlead.model.claims import Attached
from fairlead.model.shape import PodDisk

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
UNSPECIFIED = "UNSPECIFIED"
MANAGED = "managed"


@dataclass(frozen=True, slots=True)
class DiskPlugin:
    """An in-tree plugin and the driver that does its work now. `zone` is the driver's label, where it has its own."""

    name: str
    driver: str
    zone: str = ""


GCE = DiskPlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone")
AWS = DiskPlugin("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone")
AZURE = DiskPlugin("kubernetes.io/azure-disk", "disk.csi.azure.com")
CINDER = DiskPlugin("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone")
PORTWORX = DiskPlugin("kubernetes.io/portworx-volume", "pxd.portworx.com")
DRIVERS = {each.name: each.driver for each in (GCE, AWS, AZURE, CINDER, PORTWORX)}
UNCOUNTED = frozenset({"kubernetes.io/vsphere-volume", "kubernetes.io/azure-file"})
"""Migrated as well, but kube-scheduler does not count their volumes."""

_EBS = re.compile(r"vol-[^/]*").fullmatch


def exclusive(volumes: tuple[PodVolume, ...]) -> tuple[PodDisk, ...]:
    """The disks among a pod's volumes that pods on one node may not share, or only to read."""
    return tuple(sorted({disk for each in volumes if (disk := disk_of(each)) is not None}, key=repr))


def disk_of(volume: PodVolume) -> PodDisk | None:
    """The volume as a disk that others may not have on the same node; None for all other volumes."""
    if (gce := volume.gce_persistent_disk) is not None:
        return PodDisk(kind="gce", name=gce.pd_name, read_only=gce.read_only)
    if (aws := volume.aws_elastic_block_store) is not None:
        return PodDisk(kind="aws", name=aws.volume_id)
    if (iscsi := volume.iscsi) is not None:
        return PodDisk(kind="iscsi", name=iscsi.iqn, read_only=iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        name = f"{rbd.pool}/{rbd.image}"
        return PodDisk(kind="rbd", name=name, read_only=rbd.read_only, hosts=tuple(sorted(rbd.monitors)))
    return None


def attached(volumes: tuple[PodVolume, ...]) -> tuple[Attached, ...]:
    """The volumes of a pod that count in a driver's limit though no claim stands for them.

    Raises ValueError where the driver cannot have such a disk.
    """
    found = set()
    for each in volumes:
        plugin = plugin_of(each)
        if plugin is not None:
            handle = handle_of(each, {})
            if not handle:
                raise ValueError(f"volume {each.name}: {plugin.driver} cannot attach this disk")
            found.add((plugin.driver, handle))
    return tuple(sorted(found))


def plugin_of(source: PodVolume | PersistentVolumeSpec) -> DiskPlugin | None:
    """The in-tree plugin of the volume; None where it has none that counts."""
    named = (
        (GCE, source.gce_persistent_disk),
        (AWS, source.aws_elastic_block_store),
        (AZURE, source.azure_disk),
        (CINDER, source.cinder),
        (PORTWORX, source.portworx_volume),
    )
    return next((plugin for plugin, disk in named if disk is not None), None)


def handle_of(source: PodVolume | PersistentVolumeSpec, labels: Mapping[str, str]) -> str:
    """What the driver calls the disk, by the labels of its PersistentVolume; empty where it cannot have it."""
    if (gce := source.gce_persistent_disk) is not None:
        return _gce(gce.pd_name, labels)
    if (aws := source.aws_elastic_block_store) is not None:
        return _ebs(aws.volume_id)
    if (azure := source.azure_disk) is not None:
        return azure.disk_uri if azure.kind is None or azure.kind.lower() == MANAGED else ""
    if (cinder := source.cinder) is not None:
        return cinder.volume_id
    return "" if source.portworx_volume is None else source.portworx_volume.volume_id


def driver_of(provisioner: str) -> str:
    """The driver that makes volumes for a class with this provisioner; empty where they are not counted."""
    return "" if provisioner in UNCOUNTED else DRIVERS.get(provisioner, provisioner)


def as_the_driver_says(volume: PersistentVolume, plugin: DiskPlugin) -> PersistentVolume | None:
    """The volume with zones under the driver's own label; None where the driver cannot have it."""
    if not handle_of(volume.spec, volume.metadata.labels):
        return None
    if not plugin.zone:
        return volume
    affinity = volume.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()
    zone, region = _zone_keys(terms, volume.metadata.labels)
    label = volume.metadata.labels.get(zone)
    if any(_values(terms, zone)):
        terms = _renamed(terms, zone, plugin.zone)
    elif label is not None and (zones := sorted({each.strip() for each in label.split("__")} - {""})):
        terms = _narrowed(terms, RequirementSpec(key=plugin.zone, operator="In", values=tuple(zones)))
    else:
        return volume
    return _with(volume, _renamed(terms, OLD_REGION, REGION) if region == OLD_REGION else terms)


def _gce(name: str, labels: Mapping[str, str]) -> str:
    zones = (labels.get(OLD_ZONE) or labels.get(ZONE, "")).split("__")
    if len(zones) == 1:
        return f"projects/{UNSPECIFIED}/zones/{zones[0] or UNSPECIFIED}/disks/{name}"
    parts = [zone.split("-") for zone in zones]
    regions = {"-".join(each[:2]) for each in parts}
    if len(regions) > 1 or any(len(each) != 3 for each in parts):
        return ""
    return f"projects/{UNSPECIFIED}/regions/{regions.pop()}/disks/{name}"


def _ebs(name: str) -> str:
    if not name.startswith("aws://"):
        return name
    try:
        own = urlsplit(name).path.strip("/")
    except ValueError:
        return ""
    return own if _EBS(own) else ""


def _zone_keys(terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]) -> tuple[str, str]:
    """The names under which the volume tells zone and region: what its terms use, else its labels, else today's."""
    used = {each.key for term in terms for each in term.match_expressions}
    for named in (used, labels):
        if ZONE in named:
            return ZONE, REGION
        if OLD_ZONE in named:
            return OLD_ZONE, OLD_REGION
    return ZONE, REGION


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> Iterator[str]:
    return (value for term in terms for each in term.match_expressions if each.key == key for value in each.values)


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    def rename(each: RequirementSpec) -> RequirementSpec:
        return msgspec.structs.replace(each, key=new) if each.key == old else each

    return tuple(
        msgspec.structs.replace(term, match_expressions=tuple(map(rename, term.match_expressions))) for term in terms
    )


def _narrowed(terms: tuple[NodeSelectorTerm, ...], more: RequirementSpec) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        msgspec.structs.replace(term, match_expressions=(*term.match_expressions, more))
        for term in terms or (NodeSelectorTerm(),)
    )


def _with(volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...]) -> PersistentVolume:
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))
    return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, node_affinity=affinity))
