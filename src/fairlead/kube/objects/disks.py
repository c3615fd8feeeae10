"""Disks of clouds and storage arrays as pods and volumes name them: the older, in-tree way that drivers took over."""

from msgspec import field

from fairlead.kube.objects.meta import Shape


class GceDisk(Shape, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AwsDisk(Shape, frozen=True):
    volume_id: str = field(name="volumeID", default="")


class AzureDisk(Shape, frozen=True):
    disk_uri: str = field(name="diskURI", default="")
    kind: str | None = None


class CinderDisk(Shape, frozen=True):
    volume_id: str = field(name="volumeID", default="")


class PortworxDisk(Shape, frozen=True):
    volume_id: str = field(name="volumeID", default="")


class IscsiDisk(Shape, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RbdDisk(Shape, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False
