"""Disks of clouds and storage arrays as pods and volumes name them: the older, in-tree way that drivers took over."""

from msgspec import field

from fairlead.kube.objects.meta import ApiShape


class GceDisk(ApiShape, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AwsDisk(ApiShape, frozen=True):
    volume_id: str = field(name="volumeID", default="")


class AzureDisk(ApiShape, frozen=True):
    disk_uri: str = field(name="diskURI", default="")
    kind: str | None = None


class CinderDisk(ApiShape, frozen=True):
    volume_id: str = field(name="volumeID", default="")


class PortworxDisk(ApiShape, frozen=True):
    volume_id: str = field(name="volumeID", default="")


class IscsiDisk(ApiShape, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RbdDisk(ApiShape, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False
