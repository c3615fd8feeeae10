"""Pods that belong to their node: those of DaemonSets, and static ones that a kubelet runs by itself."""

from fairlead.kube.objects.pod import Pod

DAEMON_SET = "DaemonSet"
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a pod that mirrors a static one."""


def belongs_to_node(pod: Pod) -> bool:
    """Whether the pod stays with its node: no drain moves it, and no other node would get it."""
    controller = pod.metadata.controller
    return MIRROR in pod.metadata.annotations or (controller is not None and controller.kind in (DAEMON_SET, "Node"))
