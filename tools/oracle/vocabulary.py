"""The few words of which random clusters are made: few, so that what is asked for meets what is there."""

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
DISK, SIZE = "disk", "size"

NODE_LABELS: dict[str, tuple[str, ...]] = {
    ZONE: ("z1", "z2", "z3"),
    REGION: ("r1", "r2"),
    DISK: ("ssd", "hdd", ""),
    SIZE: ("1", "5", "10", "007", "big", "9223372036854775808", "00000000000000000000000005"),
}
POD_LABELS: dict[str, tuple[str, ...]] = {"app": ("a", "b", "c"), "tier": ("x", "y", ""), "version": ("1", "2")}
NAMESPACE_LABELS: dict[str, tuple[str, ...]] = {"team": ("red", "blue"), "stage": ("test", "live")}
NAMESPACES = ("here", "there", "beyond")

TAINT_KEYS = ("kept", "gpu", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready")
TAINT_VALUES = ("", "yes", "5")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")

DEVICE, HUGE = "example.com/device", "hugepages-2Mi"
ADDRESSES = ("", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::1", "::")
PROTOCOLS = ("TCP", "UDP", "SCTP")

DRIVER, OTHER_DRIVER = "csi.example.com", "other.example.com"
GCE, EBS = "pd.csi.storage.gke.io", "ebs.csi.aws.com"
"""Drivers to which in-tree volumes are migrated."""

THEMES = ("room", "labels", "taints", "ports", "neighbours", "spread", "volumes", "limits", "resize", "features")
"""What a cluster may be about. A cluster has some of them, so that one cause does not hide the others."""
