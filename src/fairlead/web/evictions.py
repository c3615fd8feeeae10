"""Who is evicted, by which component and for which job: what the condition `DisruptionTarget` of a pod says.

The live scheduler writes the condition before it evicts, as kube-scheduler does before it preempts; the API server, the
taint eviction and the kubelet write it too. Nothing else about an eviction outlives the pod on the server.
"""

from fairlead.dataclass import dataclass
from fairlead.kube.codec.queues import queue_fields
from fairlead.kube.manifests.controllers import Owners, owner_key
from fairlead.kube.objects.meta import Condition
from fairlead.kube.objects.pod import Pod

CONDITION = "DisruptionTarget"
FOR = "makes room for "
"""How the live scheduler begins the message; the job follows."""
PREEMPTING = ": preempting"
"""What stands behind the name of a scheduler in the message of kube-scheduler."""
REASONS = {
    "EvictionByEvictionAPI": "the Eviction API",
    "DeletionByTaintManager": "taints of the node",
    "DeletionByPodGC": "the garbage collector of pods",
    "TerminationByKubelet": "the kubelet",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEviction:
    """One pod that is about to go. `beneficiary` is the job that gets the room, empty where nothing names one."""

    job: str
    by: str
    beneficiary: str


def mark_of(pod: Pod) -> Condition | None:
    """The condition that says that the pod is about to go, None where it is not."""
    return next((each for each in pod.status.conditions if (each.type, each.status) == (CONDITION, "True")), None)


def eviction_of(pod: Pod, condition: Condition, replica_sets: Owners) -> SeenEviction:
    """What the condition says of the pod's eviction."""
    message = condition.message
    by, found, _ = message.partition(PREEMPTING)
    if message.startswith(FOR):
        by = "Fairlead's scheduler"
    elif not found:
        by = REASONS.get(condition.reason, condition.reason or "an unnamed component")
    return SeenEviction(
        job=job_of(pod, replica_sets),
        by=by,
        beneficiary=message.removeprefix(FOR) if message.startswith(FOR) else "",
    )


def job_of(pod: Pod, replica_sets: Owners) -> str:
    """The row that the pod counts in: its group, else its workload."""
    fields = queue_fields(pod)
    group = fields.group or fields.native
    return f"PodGroup/{pod.metadata.namespace}/{group}" if group else owner_key(pod, replica_sets)
