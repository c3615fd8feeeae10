"""Which adapter reads which kind."""

from collections.abc import Callable
from importlib import import_module

from fairlead.kube.adapters.adapted import Adapted, Value

ADAPTERS: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("", "ReplicationController"): ("replication_controller", ("v1",)),
    ("batch", "CronJob"): ("cron_job", ("v1", "v1beta1")),
    ("batch.volcano.sh", "Job"): ("volcano_job", ("v1alpha1",)),
    ("jobset.x-k8s.io", "JobSet"): ("job_set", ("v1alpha2",)),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): ("leader_worker_set", ("v1",)),
    ("ray.io", "RayCluster"): ("ray", ("v1", "v1alpha1")),
    ("ray.io", "RayJob"): ("ray", ("v1", "v1alpha1")),
    ("kubeflow.org", "PyTorchJob"): ("kubeflow", ("v1",)),
    ("trainer.kubeflow.org", "TrainJob"): ("kubeflow", ("v1alpha1",)),
    ("kueue.x-k8s.io", "ClusterQueue"): ("kueue", ("v1beta1", "v1beta2")),
    ("kueue.x-k8s.io", "Cohort"): ("kueue", ("v1alpha1", "v1beta1", "v1beta2")),
    ("kueue.x-k8s.io", "ResourceFlavor"): ("kueue", ("v1beta1", "v1beta2")),
    ("kueue.x-k8s.io", "Workload"): ("kueue", ("v1beta1", "v1beta2")),
}
"""By group and kind: the module of the adapter, and the versions whose fields are known."""


def adapter(group: str, kind: str) -> Callable[[Value], Adapted] | None:
    """The adapter of a kind, imported when it is asked for; None where there is none."""
    found = ADAPTERS.get((group, kind))
    return None if found is None else import_module(f"fairlead.kube.adapters.{found[0]}").adapt
