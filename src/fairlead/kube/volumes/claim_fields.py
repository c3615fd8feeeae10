"""What single fields of claims, volumes and CSINodes say."""

from typing import Any

from fairlead.kube.changes import Key
from fairlead.kube.codec.disks import handle_of, plugin_of
from fairlead.kube.objects.storage import CsiNode, PersistentVolume, PersistentVolumeClaim
from fairlead.kube.volumes.candidates import STORAGE
from fairlead.model.amounts import exact
from fairlead.model.claims import Attached

OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
DISK = "disk/"


def key_of(each: Any) -> Key:
    """Namespace and name of any object."""
    return each.metadata.namespace, each.metadata.name


def owner_of(volume: PersistentVolume) -> Key | None:
    """The claim that the volume is for."""
    reference = volume.spec.claim_ref
    return None if reference is None else (reference.namespace, reference.name)


def disk_holder(disk: Attached) -> Key:
    """A disk that a pod names itself, as a holder: no namespace is called so."""
    return DISK + disk[0], disk[1]


def handle_of_volume(volume: PersistentVolume) -> Attached | None:
    """The volume as its driver knows it, also where the driver took over from an in-tree plugin."""
    if volume.spec.csi is not None:
        return volume.spec.csi.driver, volume.spec.csi.volume_handle
    plugin, handle = plugin_of(volume.spec), handle_of(volume.spec, volume.metadata.labels)
    return (plugin.driver, handle) if plugin is not None and handle else None


def attach_limits(node: CsiNode | None) -> dict[str, int]:
    """How many volumes each driver may attach."""
    return {
        driver.name: driver.allocatable.count
        for driver in (node.spec.drivers if node is not None else ())
        if driver.allocatable and driver.allocatable.count is not None
    }


def class_of(claim: PersistentVolumeClaim) -> str:
    """The name of the claim's class; empty where it has none."""
    return claim.metadata.annotations.get(OLD_CLASS) or claim.spec.storage_class_name or ""


def asked_bytes(claim: PersistentVolumeClaim) -> int:
    """The size that the claim asks for."""
    place = f"PersistentVolumeClaim {claim.metadata.name}: spec.resources.requests.storage"
    return exact(STORAGE, claim.spec.resources.requests.get(STORAGE, 0), place)


def is_lost(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim is being deleted, or its volume is gone."""
    return claim.metadata.deletion_timestamp is not None or claim.status.phase == "Lost"


def is_owned(claim: PersistentVolumeClaim, uid: str) -> bool:
    """Whether the claim was made for the pod of this uid."""
    return any(owner.uid == uid and owner.controller for owner in claim.metadata.owner_references)
