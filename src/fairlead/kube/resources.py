"""The kinds of objects that Fairlead talks about, and where the API serves them."""

import re
from functools import lru_cache
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from fairlead.dataclass import dataclass
from fairlead.kube.objects import karmada, longhorn, volcano
from fairlead.kube.objects.meta import Bare, ObjectReference, Raw
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import (
    ConfigMap,
    LimitRange,
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
    Secret,
)
from fairlead.kube.objects.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from fairlead.kube.objects.tier import TierLedger
from fairlead.kube.objects.workloads import BatchJob, DaemonSet, Deployment, ReplicaSet, StatefulSet

T = TypeVar("T")
S = TypeVar("S")

FAIRLEAD_GROUP = "fairlead.io"


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """One resource of the API and the shape its objects are decoded into. The core group is ''."""

    group: str
    version: str
    plural: str
    kind: str
    shape: type[T]
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """Where the group and version are served; a GET there lists its resources."""
        return _root(self.group, self.version)

    @property
    def optional(self) -> bool:
        """Whether a cluster may be without it: kinds that are installed, and those of the API server still in trial."""
        built_in = self.group in ("", "apps", "batch", "policy") or self.group.endswith(".k8s.io")
        return not built_in or "alpha" in self.version or "beta" in self.version

    @property
    def raw(self) -> "Resource[Raw]":
        """The same resource with whole objects as plain dictionaries, for reading before a replace."""
        return self.of(dict[str, Any])

    @property
    def label(self) -> str:
        """How people write it: `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def of(self, shape: type[S]) -> "Resource[S]":
        """The same resource decoded into another shape."""
        return Resource(self.group, self.version, self.plural, self.kind, shape, self.namespaced)

    def refer(self, name: str, *, namespace: str = "", uid: str = "") -> ObjectReference:
        """Points at one object, for events."""
        return ObjectReference(api_version=self.api_version, kind=self.kind, namespace=namespace, name=name, uid=uid)

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of one object, of a namespace's collection, or (neither given) of the whole collection.

        Raises ValueError where one object of a namespaced kind is asked for without its namespace, or a
        namespace is given for a kind that has none: both are mistakes in the calling code.
        """
        if namespace and not self.namespaced:
            raise ValueError(f"{self.label} have no namespace, got {namespace!r}")
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self.label} {name!r}: a namespace is needed")
        where = _collection(self.group, self.version, self.plural, namespace)
        if name:
            where = f"{where}/{_segment(name)}"
        return f"{where}/{subresource}" if subresource else where


def _root(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


@lru_cache(maxsize=1024)
def _collection(group: str, version: str, plural: str, namespace: str) -> str:
    """The path of all objects of a kind, or of those of one namespace. Every bind asks for one of few."""
    where = f"/namespaces/{_segment(namespace)}" if namespace else ""
    return f"{_root(group, version)}{where}/{plural}"


def _segment(text: str) -> str:
    """A name from outside as one path segment, so that it cannot leave its place in the path."""
    if text in (".", ".."):
        raise ValueError(f"{text!r} is not a name")
    return text if _PLAIN(text) else quote(text, safe="")


_PLAIN = re.compile(r"[-a-zA-Z0-9_.]+").fullmatch


PODS = Resource("", "v1", "pods", "Pod", Pod)
NODES = Resource("", "v1", "nodes", "Node", Node, namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", Namespace, namespaced=False)
RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota", ResourceQuota)
LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange", LimitRange)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", ConfigMap)
SECRETS = Resource("", "v1", "secrets", "Secret", Secret)
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", PersistentVolume, namespaced=False)
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", PersistentVolumeClaim)

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", Deployment)
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet", ReplicaSet)
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet", StatefulSet)
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet", DaemonSet)
JOBS = Resource("batch", "v1", "jobs", "Job", BatchJob)

DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", PodDisruptionBudget)
PRIORITY_CLASSES = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", PriorityClass, namespaced=False
)
NATIVE_POD_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", volcano.NativePodGroup)

STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", StorageClass, namespaced=False)
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", CsiNode, namespaced=False)
CSI_DRIVERS = Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", CsiDriver, namespaced=False)
CSI_STORAGE_CAPACITIES = Resource(
    "storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", CsiStorageCapacity
)
VOLUME_ATTACHMENTS = Resource(
    "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", VolumeAttachment, namespaced=False
)

STORAGE: tuple[Resource[Any], ...] = (
    PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS, CSI_STORAGE_CAPACITIES,
    VOLUME_ATTACHMENTS,
)  # fmt: skip
"""What decides where a pod with claims may run."""

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", Bare)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event", Bare)

CUSTOM_RESOURCES = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", Bare, namespaced=False
)
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    Bare,
    namespaced=False,
)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    Bare,
    namespaced=False,
)

QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", volcano.VolcanoQueue, namespaced=False)
POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", volcano.PodGroup)

CLUSTERS = Resource("cluster.karmada.io", "v1alpha1", "clusters", "Cluster", karmada.KarmadaCluster, namespaced=False)
PROPAGATION_POLICIES = Resource(
    "policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy", karmada.PropagationPolicy
)
CLUSTER_PROPAGATION_POLICIES = Resource(
    "policy.karmada.io",
    "v1alpha1",
    "clusterpropagationpolicies",
    "ClusterPropagationPolicy",
    karmada.PropagationPolicy,
    namespaced=False,
)
RESOURCE_BINDINGS = Resource(
    "work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding", karmada.ResourceBinding
)
CLUSTER_RESOURCE_BINDINGS = Resource(
    "work.karmada.io",
    "v1alpha2",
    "clusterresourcebindings",
    "ClusterResourceBinding",
    karmada.ResourceBinding,
    namespaced=False,
)

LONGHORN_NODES = Resource("longhorn.io", "v1beta2", "nodes", "Node", longhorn.LonghornNode)
LONGHORN_VOLUMES = Resource("longhorn.io", "v1beta2", "volumes", "Volume", longhorn.LonghornVolume)
LONGHORN_REPLICAS = Resource("longhorn.io", "v1beta2", "replicas", "Replica", longhorn.LonghornReplica)
LONGHORN_SETTINGS = Resource("longhorn.io", "v1beta2", "settings", "Setting", longhorn.LonghornSetting)

TIER_LEDGERS = Resource(FAIRLEAD_GROUP, "v1alpha1", "tierledgers", "TierLedger", TierLedger)

ALL: tuple[Resource[Any], ...] = tuple(value for value in list(globals().values()) if isinstance(value, Resource))
