"""Where pods run: every workload with its target and its pods, told apart by tier. Pure; the objects are given."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from fairlead.dataclass import dataclass
from fairlead.kube.admission.admit import owner_of
from fairlead.kube.admission.rules import MARKER, excludes_on_demand, exempt, requires_on_demand
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.tier import TieredController
from fairlead.levels.tier.presets import TierChoice
from fairlead.levels.tier.split import TierVerdict, ordinal, policy_of, target_of
from fairlead.model.order import natural_key
from fairlead.model.owners import Exempt, Owner, OwnerKind
from fairlead.model.selectors import integer
from fairlead.model.tiers import Tiers

REVISION = "deployment.kubernetes.io/revision"
OnRead = Callable[[OwnerKind, TieredController, Exception | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One active pod of a workload. `required` tells that its rules allow on-demand nodes only.

    `index` is its place in a StatefulSet; `current` is False for pods of an older ReplicaSet. `pinned`: its own rules
    settle the tier, so another pod in its place would be of the same.
    """

    name: str
    uid: str
    required: bool
    place: str
    created: str
    index: int | None = None
    current: bool = True
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTiers:
    """One workload. `target` is min(M, N), None where it is left alone; `settled` that no rollout is under way."""

    kind: OwnerKind
    namespace: str
    name: str
    uid: str
    replicas: int
    target: int | None
    settled: bool
    members: tuple[Member, ...]

    def at(self, place: str) -> int:
        """Pods on nodes of that tier."""
        return sum(member.place == place for member in self.members)

    @property
    def required(self) -> int:
        """Pods of the current kind that are bound to on-demand nodes."""
        return sum(member.required and member.current for member in self.members)

    @property
    def held(self) -> int:
        """Those of them that belong there."""
        return sum(member.required and member.current and self.belongs(member) for member in self.members)

    def belongs(self, member: Member) -> bool:
        """Whether a place on on-demand nodes would be for this pod: any of a Deployment, the first M of others."""
        if self.kind is OwnerKind.DEPLOYMENT:
            return True
        return member.index is not None and self.target is not None and 0 <= member.index < self.target

    @property
    def below(self) -> bool:
        """Pods that belong on on-demand nodes are not bound to them."""
        return self.target is not None and self.held < self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """What a census is taken of."""

    deployments: Iterable[TieredController]
    replica_sets: Iterable[TieredController]
    stateful_sets: Iterable[TieredController]
    pods: Iterable[Pod]
    nodes: Iterable[Node]


def tiers_of(objects: Objects, choice: TierChoice) -> tuple[Tiers, str]:
    """The tiers that the nodes show, and one line about them."""
    labels = [node.metadata.labels for node in objects.nodes]
    tiers = choice.tiers({key for each in labels for key in each} if labels else None)
    return tiers, tiers.sentence(map(tiers.of, labels))


def census(objects: Objects, tiers: Tiers, on_read: OnRead | None = None) -> list[WorkloadTiers]:
    """Every Deployment and StatefulSet with its active pods, by namespace and name.

    `on_read` is told of each what reading it raised (None: nothing), and those that raise are left out; without it
    the first of them ends the census.
    """
    places = {node.metadata.name: tiers.of(node.metadata.labels) for node in objects.nodes}
    pods: dict[str, list[Pod]] = defaultdict(list)
    for pod in objects.pods:
        controller = pod.metadata.controller
        if controller is not None and not pod.finished and pod.metadata.deletion_timestamp is None:
            pods[controller.uid].append(pod)
    sets: dict[str, list[TieredController]] = defaultdict(list)
    for each in objects.replica_sets:
        if each.metadata.controller is not None:
            sets[each.metadata.controller.uid].append(each)
    found: list[WorkloadTiers] = []

    def read(kind: OwnerKind, workload: TieredController, make: Callable[[], WorkloadTiers]) -> None:
        try:
            found.append(make())
        except Exception as error:
            if on_read is None:
                raise
            on_read(kind, workload, error)
        else:
            if on_read is not None:
                on_read(kind, workload, None)

    for each in objects.deployments:
        own = sets[each.metadata.uid]
        read(OwnerKind.DEPLOYMENT, each, partial(_deployment, each, own, pods, places, tiers))
    for each in objects.stateful_sets:
        mine = pods[each.metadata.uid]
        read(OwnerKind.STATEFUL_SET, each, partial(_stateful_set, each, mine, places, tiers))
    return sorted(found, key=lambda each: (natural_key(each.namespace), natural_key(each.name), each.kind))


def _deployment(
    workload: TieredController,
    sets: list[TieredController],
    pods: Mapping[str, list[Pod]],
    places: Mapping[str, str],
    tiers: Tiers,
) -> WorkloadTiers:
    current = max(sets, key=_revision).metadata.uid if sets else ""
    own = [(pod, each.metadata.uid == current) for each in sets for pod in pods.get(each.metadata.uid, ())]
    members = tuple(_member(pod, places, tiers, current=newest) for pod, newest in own)
    return _standing(OwnerKind.DEPLOYMENT, workload, [pod for pod, _ in own], members, tiers)


def _stateful_set(
    workload: TieredController, pods: list[Pod], places: Mapping[str, str], tiers: Tiers
) -> WorkloadTiers:
    owner = owner_of(OwnerKind.STATEFUL_SET, workload)
    members = tuple(_member(pod, places, tiers, index=ordinal(pod.metadata.name, owner)) for pod in pods)
    return _standing(OwnerKind.STATEFUL_SET, workload, pods, members, tiers)


def _standing(
    kind: OwnerKind, workload: TieredController, pods: Iterable[Pod], members: tuple[Member, ...], tiers: Tiers
) -> WorkloadTiers:
    owner, status = _with_exemption(owner_of(kind, workload), pods), workload.status
    seen = status.observed_generation >= workload.metadata.generation
    complete = status.updated_replicas == status.replicas == status.available_replicas == owner.replicas
    return WorkloadTiers(
        kind=kind,
        namespace=workload.metadata.namespace,
        name=workload.metadata.name,
        uid=workload.metadata.uid,
        replicas=owner.replicas,
        target=target_of(owner, policy_of(tiers)).count,
        settled=seen and complete and len(members) == owner.replicas,
        members=tuple(sorted(members, key=lambda each: natural_key(each.name))),
    )


def _with_exemption(owner: Owner, pods: Iterable[Pod]) -> Owner:
    """The owner as its pods show it: their priority class and labels are not known of the workload itself."""
    for pod in pods:
        found = exempt(pod.spec.priority_class_name, pod.metadata.labels)
        if found is not Exempt.NONE:
            return replace(owner, exempt=found)
    return owner


def _member(
    pod: Pod, places: Mapping[str, str], tiers: Tiers, *, index: int | None = None, current: bool = True
) -> Member:
    node = pod.spec.node_name
    required = requires_on_demand(pod.spec, tiers)
    by_us = pod.metadata.labels.get(MARKER) == TierVerdict.ON_DEMAND
    return Member(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        required=required,
        pinned=not by_us if required else excludes_on_demand(pod.spec, tiers),
        place=places.get(node, "other") if node else "pending",
        created=pod.metadata.creation_timestamp or "",
        index=index,
        current=current,
    )


def _revision(replica_set: TieredController) -> tuple[int, str, str]:
    number = integer(replica_set.metadata.annotations.get(REVISION, ""))
    return number or 0, replica_set.metadata.creation_timestamp or "", replica_set.metadata.name
