"""What the bound volume claims of a workload demand of nodes, replica by replica."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from fairlead.kube.codec.volumes import volume_terms, volume_zones
from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.manifests.controllers import Controller, controllers
from fairlead.kube.objects.pod import Pod, PodSpec
from fairlead.kube.objects.storage import PersistentVolume, PersistentVolumeClaim
from fairlead.kube.objects.workloads import StatefulSet
from fairlead.model.claims import ClaimDemand, ReplicaClaims, WorkloadClaims
from fairlead.model.nodestate import NodeState

Key = tuple[str, str]
T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)
NOTHING = ClaimDemand()
MOST_ORDINALS = 10_000
"""Replicas of a StatefulSet that are told apart; more demand nothing of their own."""


class BoundVolumes:
    """The volumes that claims of one cluster are bound to. A claim that is not among the manifests demands nothing."""

    def __init__(self, found: Catalogue, cluster: str) -> None:
        volumes = {each.metadata.name: each for each in _here(found.of(PersistentVolume), cluster)}
        self._bound: dict[Key, PersistentVolume] = {}
        self.open = 0
        """Claims without a volume."""
        for claim in _here(found.of(PersistentVolumeClaim), cluster):
            volume = volumes.get(claim.spec.volume_name)
            if volume is not None:
                self._bound[claim.metadata.namespace, claim.metadata.name] = volume
            self.open += not claim.spec.volume_name

    def demand(self, namespace: str, names: Iterable[str]) -> ClaimDemand:
        """What the volumes of these claims demand together."""
        volumes = [self._bound[namespace, name] for name in names if (namespace, name) in self._bound]
        terms = (volume_terms(each) for each in volumes)
        zones = tuple(zone for each in volumes for zone in volume_zones(each))
        return ClaimDemand(volumes=tuple(each for each in terms if each is not None), zones=zones)


def bound_claims(found: Catalogue, cluster: str, nodes: NodeState) -> Iterator[tuple[str, WorkloadClaims]]:
    """Workloads, by key, whose claims are bound to volumes that not every node reaches."""
    bound = BoundVolumes(found, cluster)
    if bound.open:
        found.not_counted["PersistentVolumeClaim without a volume"] += bound.open
    templates = {
        (each.metadata.namespace, each.metadata.name): [one.metadata.name for one in each.spec.volume_claim_templates]
        for each in found.at(StatefulSet, cluster)
    }
    placed = found.at(Pod, cluster) if any(templates.values()) else ()
    rows = {(pod.metadata.namespace, pod.metadata.name): nodes.rows.get(pod.spec.node_name, -1) for pod in placed}
    for each in controllers(found, cluster):
        made = templates.get((each.meta.namespace, each.meta.name), []) if each.kind == "StatefulSet" else []
        shared = tuple(claims_named(each.template.spec))
        more = bound.demand(each.meta.namespace, shared)
        known = WorkloadClaims(replicas=tuple(_ordinals(each, made, shared, bound, rows)), more=more)
        if more != NOTHING or any(one.demand != NOTHING for one in known.replicas):
            yield each.key, known


def _ordinals(
    controller: Controller,
    templates: Sequence[str],
    shared: Sequence[str],
    bound: BoundVolumes,
    rows: Mapping[Key, int],
) -> Iterator[ReplicaClaims]:
    """The replicas of a StatefulSet with claims of their own, in order."""
    namespace, first = controller.meta.namespace, controller.first_ordinal
    replicas = min(1 if controller.replicas is None else controller.replicas, MOST_ORDINALS)
    for ordinal in range(first, first + replicas) if templates else ():
        name = f"{controller.meta.name}-{ordinal}"
        own = (f"{each}-{name}" for each in templates)
        yield ReplicaClaims(row=rows.get((namespace, name), -1), demand=bound.demand(namespace, (*shared, *own)))


def claims_named(spec: PodSpec) -> Iterator[str]:
    """The claims that a pod's volumes name."""
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def _here(objects: Iterable[T], cluster: str) -> Iterator[T]:
    return (each for each in objects if cluster_of(each) in ("", cluster))
