"""A catalogue of objects to the snapshot that a plan is made from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from fairlead.engine.plan_settings import DEFAULT_SETTINGS, PlanSettings
from fairlead.kube.codec.longhorn import storage
from fairlead.kube.codec.nodes import node_record
from fairlead.kube.codec.queues import namespace_weights, queue_row, rooted
from fairlead.kube.codec.volcano_fields import not_obeyed, queue_not_obeyed
from fairlead.kube.manifests.budgets import budgets
from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.manifests.controllers import leaving, replica_set_owners
from fairlead.kube.manifests.daemons import daemons
from fairlead.kube.manifests.fleet import division_ask, unreadable_clusters
from fairlead.kube.manifests.limits import charged, sound_quotas
from fairlead.kube.manifests.site_pods import SitePods, site_pods
from fairlead.kube.manifests.volume_claims import volume_claims
from fairlead.kube.manifests.workloads import Reader
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import Namespace, PodDisruptionBudget, ResourceQuota
from fairlead.kube.objects.volcano import PodGroup, VolcanoQueue
from fairlead.levels.tier.presets import TierChoice
from fairlead.model.budgets import Budget
from fairlead.model.columns import Int, frozen, ints
from fairlead.model.division import DivisionAsk
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeState, node_state
from fairlead.model.order import natural_key, natural_sorted
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.quotas import NamespaceQuota
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.workload import Workload

T = TypeVar("T")
Bound = TypeVar("Bound", Budget, NamespaceQuota)
R = TypeVar("R")


def snapshot(
    found: Catalogue, settings: PlanSettings = DEFAULT_SETTINGS, on_progress: OnProgress = no_progress
) -> Snapshot:
    """Everything the objects say, ready for `engine.plan`. What cannot be used is added to the catalogue's errors.

    `on_progress` follows the pods that are looked at.
    """
    reader = Reader(found, settings.strategy)
    found.errors.extend(unreadable_clusters(found))
    found.not_counted.update(f"PodGroup: {field}" for each in found.of(PodGroup) for field in not_obeyed(each))
    found.not_counted.update(f"Queue: {field}" for each in found.of(VolcanoQueue) for field in queue_not_obeyed(each))
    names = sorted({cluster_of(each) for each in (*found.of(Node), *found.of(LonghornNode))}) or [""]
    divided: list[tuple[Workload, DivisionAsk]] = []
    homes: dict[str, list[Workload]] = {name: [] for name in names}
    for cluster in sorted({"", *names}):
        for workload in reader.controllers(found, cluster):
            ask = division_ask(found, workload, settings.sticky) if not cluster else None
            if ask is not None:
                divided.append((workload, ask))
            elif cluster in homes:
                homes[cluster].append(workload)
            elif len(homes) == 1:
                homes[names[0]].append(workload)
            else:
                why = f"{workload.kind} is in no cluster: no policy propagates it, and it names none"
                found.errors.append(InputError(workload.title, why))
    of_fleet = [workload for workload, _ in divided]
    sites = tuple(
        _site(found, reader, name, homes[name], of_fleet, settings.tiers, on_progress=on_progress) for name in names
    )
    return Snapshot(sites=sites, divided=tuple(divided))


def _site(
    found: Catalogue,
    reader: Reader,
    name: str,
    own: list[Workload],
    divided: list[Workload],
    choice: TierChoice,
    *,
    on_progress: OnProgress,
) -> Site:
    pods = _readable(found, name, on_progress)
    used = pods.used()
    records = _sound(found, found.at(Node, name), lambda node: node_record(node, used.get(node.metadata.name, {})))
    nodes = node_state(sorted(records, key=lambda record: natural_key(record.name)))
    _name_lost(found, name, pods.lost(nodes))
    # Pods of a divided workload run here too; the workload itself is counted by the fleet.
    tiers = choice.tiers(nodes.labels.keys() if nodes.names else None)
    replica_sets = replica_set_owners(found, name)
    fixed, owned = pods.owned(replica_sets, fixed=True), pods.owned(replica_sets)
    attached = reader.attach(owned, [*own, *divided], tiers)
    everywhere = tuple(daemons(found, name, nodes, reader, pods.fixed))
    of_fleet = {workload.key for workload in divided}
    stored = storage(
        found.at(LonghornNode, name),
        found.at(LonghornVolume, name),
        found.at(LonghornReplica, name),
        found.at(LonghornSetting, name),
    )
    found.errors.extend((*stored.errors, *stored.left_out))
    quotas = sound_quotas(found, _here(found, ResourceQuota, name))
    if quotas:
        quotas = tuple(charged(quotas, leaving(owned, {each.key for each in (*own, *divided)})))
    claims, volumes = volume_claims(found, name, nodes, _together(owned, fixed))
    return Site(
        name=name,
        nodes=nodes,
        population=pods.population(nodes, found.of(Namespace)),
        workloads=tuple(each for each in attached.workloads if each.key not in of_fleet),
        present={key: _per_node(nodes, running.nodes) for key, running in attached.running.items()}
        | {each.workload.key: each.running for each in everywhere},
        required={key: _per_node(nodes, each.required) for key, each in attached.running.items() if each.required},
        queues=tuple(rooted(_sound(found, _here(found, VolcanoQueue, name), queue_row))),
        weights=namespace_weights(_here(found, ResourceQuota, name)),
        disks=stored.disks,
        volumes=stored.volumes,
        storage=stored.policy,
        tiers=tiers,
        quotas=_by_name(quotas),
        budgets=_by_name(budgets(_here(found, PodDisruptionBudget, name), found.errors)),
        claims=claims,
        attached=volumes,
        daemons=everywhere,
        fixed=pods.fixed_on(nodes),
        fixed_used=_used(nodes, pods.used(fixed=True)) if pods.fixed else None,
    )


def _together(left: Mapping[str, list[Pod]], right: Mapping[str, list[Pod]]) -> dict[str, list[Pod]]:
    return {key: [*left.get(key, ()), *right.get(key, ())] for key in {**left, **right}} if right else dict(left)


def _used(nodes: NodeState, used: Mapping[str, Mapping[str, int]]) -> Int:
    """What some pods use of each node, as columns."""
    return ints([[used.get(name, {}).get(each, 0) for each in nodes.resources] for name in nodes.names])


def _here(found: Catalogue, kind: type[T], name: str) -> list[T]:
    """The objects of one cluster and those that name none, which are in all of them."""
    return [each for each in found.of(kind) if cluster_of(each) in ("", name)]


def _by_name(bounds: Iterable[Bound]) -> tuple[Bound, ...]:
    """In an order that does not depend on that of the objects."""
    return tuple(sorted(bounds, key=lambda bound: natural_key(f"{bound.namespace}/{bound.name}")))


def _per_node(nodes: NodeState, names: Iterable[str]) -> Int:
    rows = np.array([nodes.rows[name] for name in names if name in nodes.rows], dtype=np.int64)
    return frozen(np.bincount(rows, minlength=len(nodes.names)).astype(np.int64, copy=False))


def _readable(found: Catalogue, name: str, on_progress: OnProgress) -> SitePods:
    """The pods whose spec can be read; the others are named among the errors, once, and left out of the catalogue."""
    bad: set[int] = set()

    def refuse(pod: Pod, error: InputError) -> None:
        bad.add(id(pod))
        found.errors.append(error.within(f"Pod {pod.metadata.namespace}/{pod.metadata.name}: "))

    pods = site_pods(found.at(Pod, name), refuse, on_progress)
    if bad:
        found.objects[Pod] = [pod for pod in found.of(Pod) if id(pod) not in bad]
    return pods


def _name_lost(found: Catalogue, name: str, lost: Sequence[Pod]) -> None:
    """Pods on nodes that are not there are one mistake; what they belong to is planned without them."""
    if not lost:
        return
    titles = natural_sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in lost)
    gone = natural_sorted({pod.spec.node_name for pod in lost})
    what = f"Pod {titles[0]} runs" if len(titles) == 1 else f"{len(titles)} pods ({_some(titles)}) run"
    where = f"on node {gone[0]}, which is" if len(gone) == 1 else f"on {len(gone)} nodes ({_some(gone)}) that are"
    message = f"{what} {where} not among the manifests; planned as if not running"
    found.errors.append(InputError(f"cluster {name}" if name else "", message))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def _sound(found: Catalogue, objects: Iterable[T], read: Callable[[T], R]) -> list[R]:
    """What is read from the objects; those that cannot be read are named among the errors."""
    rows = []
    for each in objects:
        try:
            rows.append(read(each))
        except InputError as error:
            found.errors.append(error)
    return rows
