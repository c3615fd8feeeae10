"""DaemonSets: on which nodes they belong, and where they run already."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.workloads import Reader
from fairlead.kube.objects.fixed import DAEMON_SET
from fairlead.kube.objects.meta import ObjectMeta
from fairlead.kube.objects.pod import Pod, PodTemplate
from fairlead.kube.objects.workloads import DaemonSet
from fairlead.levels.node.constraints.labels import selected
from fairlead.model.columns import Bool, Int, flags, ints
from fairlead.model.daemons import Daemon
from fairlead.model.nodestate import NodeState
from fairlead.model.selectors import CORDONED, NOT_READY, UNREACHABLE, Effect, Toleration, tolerated
from fairlead.model.shape import Shape
from fairlead.model.workload import Workload

PRESSURES = ("disk-pressure", "memory-pressure", "pid-pressure")
TOLERATED = (
    Toleration(NOT_READY, "Exists", "", Effect.NO_EXECUTE),
    Toleration(UNREACHABLE, "Exists", "", Effect.NO_EXECUTE),
    Toleration(CORDONED, "Exists", "", Effect.NO_SCHEDULE),
    *(Toleration(f"node.kubernetes.io/{each}", "Exists", "", Effect.NO_SCHEDULE) for each in PRESSURES),
)
"""What the DaemonSet controller lets every pod of its own tolerate."""


def daemons(found: Catalogue, cluster: str, nodes: NodeState, reader: Reader, pods: Iterable[Pod]) -> Iterator[Daemon]:
    """Every DaemonSet of a cluster; one that only its pods show belongs where they are."""
    running = _running(pods, nodes)
    for each in found.at(DaemonSet, cluster):
        for workload in reader.read(DAEMON_SET, each.metadata, 0, each.spec.template):
            there, _ = running.pop(workload.key, (_nowhere(nodes), None))
            formed = replace(workload.shape, tolerations=(*workload.shape.tolerations, *TOLERATED))
            yield _daemon(replace(workload, shape=formed), _matching(nodes, formed), there)
    for key, (there, sample) in running.items():
        _, namespace, name = key.split("/", 2)
        meta = ObjectMeta(name=name, namespace=namespace)
        template = PodTemplate(metadata=sample.metadata, spec=sample.spec)
        for workload in reader.read(DAEMON_SET, meta, 0, template):
            anywhere = replace(workload.shape, node_selector=(), required=None)
            yield _daemon(replace(workload, shape=anywhere), flags(there > 0), there)


def _daemon(workload: Workload, wanted: Bool, there: Int) -> Daemon:
    return Daemon(workload=replace(workload, replicas=int(wanted.sum())), wanted=wanted, running=there)


def _running(pods: Iterable[Pod], nodes: NodeState) -> dict[str, tuple[Int, Pod]]:
    """By DaemonSet, how many of its pods are on each node, and one of them."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    samples: dict[str, Pod] = {}
    for pod in pods:
        controller, row = pod.metadata.controller, nodes.rows.get(pod.spec.node_name)
        if controller is not None and controller.kind == DAEMON_SET and row is not None and not pod.finished:
            key = f"{DAEMON_SET}/{pod.metadata.namespace}/{controller.name}"
            counts[key][row] += 1
            samples.setdefault(key, pod)
    columns = {key: np.array([rows[row] for row in range(len(nodes.names))]) for key, rows in counts.items()}
    return {key: (ints(columns[key]), samples[key]) for key in counts}


def _matching(nodes: NodeState, shape: Shape) -> Bool:
    """Nodes whose labels and taints let a pod of the DaemonSet run there."""
    suits = np.array([tolerated(taints, shape.tolerations) for taints in nodes.taint_profiles], dtype=np.bool_)
    return flags(selected(nodes, shape) & suits[nodes.taint_profile])


def _nowhere(nodes: NodeState) -> Int:
    return ints(np.zeros(len(nodes.names), dtype=np.int64))
