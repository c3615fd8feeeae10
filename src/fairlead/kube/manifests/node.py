"""Node and Pod manifests, with a workload or a request given apart, to what `fairlead place` decides on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.kube.codec.nodes import node_records
from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.manifests.controllers import pods_by_owner, replica_set_owners
from fairlead.kube.manifests.workloads import Reader
from fairlead.kube.objects.fixed import belongs_to_node
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeState, node_state
from fairlead.model.order import natural_sorted
from fairlead.model.shape import Shape
from fairlead.model.tiers import Tiers
from fairlead.model.workload import AUTO, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceManifests:
    """Nodes with what their pods use, the shape of a replica, and how many of the workload run where.

    `need` is how many replicas of the workload do not run yet.
    """

    state: NodeState
    shape: Shape
    running: Mapping[str, int] = field(default_factory=dict)
    need: int = 0
    strategy: str = AUTO


def place_manifests(
    found: Catalogue, *, workload: str = "", request: Mapping[str, int] | None = None
) -> PlaceManifests:
    """What the manifests say. The replica is that of `request`, of the workload named, or of the only one there is.

    Where the nodes are marked as read from one cluster, its pods are counted, and workloads of that cluster and
    of no cluster are known.
    """
    nodes = found.of(Node)
    if not nodes:
        raise InputError("", "there is no Node among the manifests; expected at least one")
    clusters = natural_sorted({cluster_of(node) for node in nodes})
    if len(clusters) > 1:
        raise InputError("", f"the nodes are of several clusters ({', '.join(clusters)}); use fairlead plan")
    (cluster,) = clusters
    state = node_state(node_records(nodes, found.at(Pod, cluster)))
    if request is not None:
        return PlaceManifests(state=state, shape=Shape(request=tuple(sorted({"pods": 1, **request}.items()))))
    reader = Reader(found)
    known = [each for origin in {cluster, ""} for each in reader.controllers(found, origin)]
    chosen = _chosen(known, workload)
    movable = [pod for pod in found.at(Pod, cluster) if not belongs_to_node(pod)]
    owned = pods_by_owner(movable, replica_set_owners(found, cluster))
    running = Counter(reader.attach(owned, known, Tiers()).running[chosen.key].nodes)
    return PlaceManifests(
        state=state,
        shape=chosen.shape,
        running=running,
        need=max(chosen.replicas - sum(running.values()), 0),
        strategy=chosen.strategy,
    )


def _chosen(known: list[Workload], name: str) -> Workload:
    """The workload meant by `name` (its name, or namespace/name), or the only one."""
    meant = [each for each in known if not name or name in (each.name, each.title)]
    if len(meant) == 1:
        return meant[0]
    there = ", ".join(natural_sorted(each.title for each in known)) or "none"
    if not meant:
        raise InputError(
            "", f"no workload {name!r} among the manifests ({there}); or give the request with --cpu, --memory"
        )
    raise InputError("", f"{len(meant)} workloads among the manifests ({there}); choose one with --workload")
