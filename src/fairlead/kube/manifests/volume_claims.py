"""What the volume claims of each workload demand of nodes, replica by replica, and which volumes are where already."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import msgspec

from fairlead.kube.codec.disks import attached
from fairlead.kube.codec.volumes import Claims, claims_of
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.controllers import Controller, controllers
from fairlead.kube.manifests.manifest_claims import EACH, ManifestClaims
from fairlead.kube.objects.fixed import belongs_to_node
from fairlead.kube.objects.meta import ObjectMeta
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.storage import ClaimTemplate
from fairlead.kube.objects.workloads import StatefulSet
from fairlead.model.claims import Attached, ClaimDemand, HeldVolume, ReplicaClaims, SiteVolumes, WorkloadClaims
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_key

NOTHING = ClaimDemand()
MOST_ORDINALS = 10_000
"""Replicas of a StatefulSet that are told apart; more are treated alike."""

Templates = Mapping[str, ClaimTemplate]
"""By the first part of the claim's name, what each replica gets a claim from."""
NO_TEMPLATES: Templates = MappingProxyType({})


def volume_claims(
    found: Catalogue, cluster: str, nodes: NodeState, owned: Mapping[str, list[Pod]]
) -> tuple[dict[str, WorkloadClaims], SiteVolumes]:
    """By key, the workloads whose claims demand something of nodes; and the volumes that are on nodes.

    `owned` are the pods of each workload.
    """
    reader = _Reader(found, cluster, nodes, owned)
    demanding = {
        key: claims
        for key, claims in reader.workloads()
        if claims.more != NOTHING or any(each.demand != NOTHING for each in claims.replicas)
    }
    reader.claims.tell_left_out()
    volumes = SiteVolumes(
        held=tuple(reader.held()),
        limits={name: limits for name, limits in reader.claims.limits.items() if limits},
        topology=reader.claims.topology,
    )
    return demanding, volumes


class _Reader:
    def __init__(self, found: Catalogue, cluster: str, nodes: NodeState, owned: Mapping[str, list[Pod]]) -> None:
        self.claims = ManifestClaims(found, cluster)
        self._nodes = nodes
        self._controllers = list(controllers(found, cluster))
        self._templates = {
            (each.metadata.namespace, each.metadata.name): each.spec.volume_claim_templates
            for each in found.at(StatefulSet, cluster)
        }
        self._pods = owned

    def workloads(self) -> Iterator[tuple[str, WorkloadClaims]]:
        """Every workload; pods whose owner is not among the manifests are one, too."""
        for each in self._controllers:
            if each.template.spec.volumes or self._made(each):
                yield each.key, self._controlled(each)
        known = {each.key for each in self._controllers}
        for key, pods in self._pods.items():
            if key not in known and any(pod.spec.volumes and not belongs_to_node(pod) for pod in pods):
                yield key, WorkloadClaims(replicas=tuple(map(self._replica, _in_order(pods))))

    def held(self) -> Iterator[HeldVolume]:
        """The volumes of pods on nodes, and those that are still attached."""
        for key, pods in self._pods.items():
            for pod in pods:
                row = self._nodes.rows.get(pod.spec.node_name, -1) if pod.spec.volumes else -1
                if row >= 0:
                    yield from self._held_by(pod, key, row)
        for node, volume in self.claims.attachments():
            if node in self._nodes.rows:
                yield HeldVolume(row=self._nodes.rows[node], volume=volume)

    def _held_by(self, pod: Pod, key: str, row: int) -> Iterator[HeldVolume]:
        for name, _ in claims_of(pod):
            claim = pod.metadata.namespace, name
            yield HeldVolume(row=row, workload=key, claim=claim, volume=self.claims.attached(claim))
        for volume in _disks(pod):
            yield HeldVolume(row=row, workload=key, volume=volume)

    def _made(self, controller: Controller) -> Templates:
        """The templates of claims that a StatefulSet makes."""
        found = self._templates.get((controller.meta.namespace, controller.meta.name), ())
        return {each.metadata.name: each for each in found} if controller.kind == "StatefulSet" else {}

    def _controlled(self, controller: Controller) -> WorkloadClaims:
        templates = self._made(controller)
        own = any(volume.ephemeral is not None for volume in controller.template.spec.volumes)
        replicas: Iterable[ReplicaClaims] = ()
        if templates:
            replicas = self._ordinals(controller, templates)
        elif own:
            replicas = map(self._replica, _in_order(self._pods.get(controller.key, [])))
        return WorkloadClaims(replicas=tuple(replicas), more=self._more(controller, templates))

    def _ordinals(self, controller: Controller, templates: Templates) -> Iterator[ReplicaClaims]:
        """The replicas of a StatefulSet, in order."""
        there = {pod.metadata.name: pod for pod in self._pods.get(controller.key, [])}
        first = controller.first_ordinal
        count = min(1 if controller.replicas is None else max(controller.replicas, 0), MOST_ORDINALS)
        for ordinal in range(first, first + count):
            name = f"{controller.meta.name}-{ordinal}"
            yield self._replica(there.get(name) or _pod(controller, name), templates)

    def _replica(self, pod: Pod, templates: Templates = NO_TEMPLATES) -> ReplicaClaims:
        row = self._nodes.rows.get(pod.spec.node_name, -1)
        return ReplicaClaims(row=row, demand=self._demand(pod, templates))

    def _demand(self, pod: Pod, templates: Templates) -> ClaimDemand:
        """What the claims of one pod demand, those among them that are made for it."""
        namespace = pod.metadata.namespace
        made = {f"{first}-{pod.metadata.name}": template for first, template in templates.items()}
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None and not pod.metadata.uid:
                made[f"{pod.metadata.name}-{volume.name}"] = volume.ephemeral.volume_claim_template
        for name, template in made.items():
            self.claims.make(namespace, name, template)
        known: Claims = tuple(sorted({*claims_of(pod), *((name, False) for name in made)}))
        named = tuple((name, own and name not in made) for name, own in known)
        return self.claims.demand(pod.metadata, tuple(sorted(set(named))), _disks(pod))

    def _more(self, controller: Controller, templates: Templates) -> ClaimDemand:
        """What a replica that nothing is known of yet demands: each has claims of its own."""
        pod = _pod(controller, f"{controller.meta.name}-{EACH}")
        demand = self._demand(pod, templates)
        open_claims = (replace(each, own=EACH in each.name) for each in demand.open)
        return replace(demand, open=tuple(open_claims))


def _pod(controller: Controller, name: str) -> Pod:
    meta = ObjectMeta(name=name, namespace=controller.meta.namespace)
    return Pod(metadata=meta, spec=msgspec.structs.replace(controller.template.spec, node_name=""))


def _disks(pod: Pod) -> tuple[Attached, ...]:
    """Disks that the pod names itself; those that no driver can have are told with the pod's shape."""
    try:
        return attached(pod.spec.volumes)
    except ValueError:
        return ()


def _in_order(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: natural_key(pod.metadata.name))
