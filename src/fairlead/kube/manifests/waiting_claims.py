"""Volume claims of pods that wait, for the queue level: what they demand of nodes, as a plan reads it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat

from fairlead.engine.site_fits import Filters
from fairlead.engine.working_volumes import WorkingVolumes
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.controllers import Owners, owner_key, pods_by_owner, replica_set_owners
from fairlead.kube.manifests.volume_claims import NOTHING, volume_claims
from fairlead.kube.objects.pod import Pod
from fairlead.levels.node.constraints.claims import reach
from fairlead.model.claims import ClaimDemand, SiteVolumes, WorkloadClaims
from fairlead.model.nodestate import NodeState


class WaitingClaims:
    """One reading of all clusters. The demands of a workload go to its waiting pods in the order they are asked for.

    Volumes that are attached, and claims in use, are those of now: what replicas of one decision take from one another
    is left to the plan, as the live turn leaves it to the cycle.
    """

    def __init__(self, found: Catalogue, clusters: Iterable[str], nodes: NodeState) -> None:
        self._nodes = nodes
        self._owners: Owners = {}
        self._left: dict[str, Iterator[ClaimDemand]] = {}
        held = SiteVolumes()
        for cluster in clusters:
            owners = replica_set_owners(found, cluster)
            self._owners = {**self._owners, **owners}
            owned = pods_by_owner(found.at(Pod, cluster), owners)
            claims, volumes = volume_claims(found, cluster, nodes, owned)
            self._left.update((key, _waiting(each)) for key, each in claims.items())
            held = SiteVolumes(
                held=(*held.held, *volumes.held),
                limits={**held.limits, **volumes.limits},
                topology={**held.topology, **volumes.topology},
            )
        self.any = bool(self._left)
        """Whether some workload has claims that demand something of nodes."""
        self._volumes = WorkingVolumes(held if self.any else SiteVolumes(), nodes)

    def next_demand(self, pod: Pod) -> ClaimDemand:
        """What the next waiting pod of this one's workload demands; claims are told apart by what they ask for."""
        left = self._left.get(owner_key(pod, self._owners))
        return NOTHING if left is None or pod.spec.node_name else _nameless(next(left))

    def filters(self, namespace: str, demand: ClaimDemand) -> Filters:
        """The nodes that the demand allows, by reason."""
        return reach(self._nodes, self._volumes.seen(namespace, demand, bound=False)).passing


def _waiting(claims: WorkloadClaims) -> Iterator[ClaimDemand]:
    """The demands of replicas that wait, those with claims of their own first."""
    return chain((each.demand for each in claims.replicas if each.row < 0), repeat(claims.more))


def _nameless(demand: ClaimDemand) -> ClaimDemand:
    return replace(demand, open=tuple(replace(each, name="") for each in demand.open))
