"""From an admission review to its answer, without I/O.

A pod goes through three steps: `begin` (is it one of ours?), `resolve` (whose is it? a generator that asks for objects
and is fed them, so that files and a cluster can both drive it) and `answer` (the verdict as a response).
"""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from fairlead.dataclass import dataclass
from fairlead.kube.admission import patches
from fairlead.kube.admission.review import Patch, ReviewRequest, allow, refuse
from fairlead.kube.admission.rules import COST, DELETION_COST, MARKER, MINIMUM, SLOT, exempt, pin_of, requires_on_demand
from fairlead.kube.decode import drop_nulls
from fairlead.kube.objects.fixed import MIRROR
from fairlead.kube.objects.meta import OwnerReference
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.tier import TieredController
from fairlead.levels.tier import reasons
from fairlead.levels.tier.split import Split, TierVerdict, unmanaged
from fairlead.model.errors import InputError
from fairlead.model.owners import Newcomer, Owner, OwnerKind
from fairlead.model.reasons import Finding, because
from fairlead.model.tiers import Tiers
from fairlead.text.mistakes import UNREADABLE, words

RETRY_SECONDS = 1
REPORTS = "; the ReplicaSet reports: "
MOST_REFUSAL = 500
_ASK_AGAIN = reasons.SLOTS_UNRESOLVED.sentence.rpartition("}")[2]
"""What every 429 of ours says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A pod that may be split: as it came, as typed shapes, and the reference to its controller."""

    raw: Mapping[str, Any]
    pod: Pod
    namespace: str
    controller: OwnerReference
    newcomer: Newcomer


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """An object that `resolve` needs. One with that name and another uid is a different object."""

    kind: str
    namespace: str
    name: str
    uid: str


def begin(request: ReviewRequest, tiers: Tiers) -> Asking | Split:
    """The pod of the request, or the verdict where it can be told from the pod alone."""
    if request.operation != "CREATE" or request.sub_resource:
        what = request.operation or "an unnamed operation"
        return unmanaged(reasons.NOT_CREATED, operation=f"{what} {request.sub_resource or ''}".strip())
    raw, pod = _pod(request.object)
    if MIRROR in pod.metadata.annotations:
        return unmanaged(reasons.MIRROR)
    controller = pod.metadata.controller
    if controller is None:
        return unmanaged(reasons.NO_CONTROLLER)
    if not _is(controller, "ReplicaSet") and not _is(controller, "StatefulSet"):
        return unmanaged(reasons.OWNER_KIND, kind=controller.kind)
    if _decided(pod, tiers):
        return unmanaged(reasons.ALREADY_DECIDED)
    return Asking(
        raw=raw,
        pod=pod,
        namespace=pod.metadata.namespace or request.namespace or "",
        controller=controller,
        newcomer=Newcomer(name=pod.metadata.name, pin=pin_of(pod.spec, tiers)),
    )


def resolve(asking: Asking) -> Generator[Lookup, TieredController | None, Owner | Split]:
    """The workload that the pod belongs to, or the verdict where there is none; yields what it needs to look at."""
    reference = asking.controller
    if reference.kind == "ReplicaSet":
        found = yield from _look(reference, asking.namespace)
        if isinstance(found, Split):
            return found
        parent = found.metadata.controller
        if parent is None or not _is(parent, "Deployment"):
            return unmanaged(reasons.NO_DEPLOYMENT, owner=reference.name)
        reference = parent
    found = yield from _look(reference, asking.namespace)
    if isinstance(found, Split):
        return found
    spec, labels = asking.pod.spec, asking.pod.metadata.labels
    untiered = exempt(spec.priority_class_name, labels, found.metadata.labels)
    return replace(owner_of(OwnerKind(reference.kind), found), exempt=untiered)


def owner_of(kind: OwnerKind, workload: TieredController) -> Owner:
    """A workload as the level sees it; an absent number of replicas means 1."""
    replicas = workload.spec.replicas
    return Owner(
        kind=kind,
        name=workload.metadata.name,
        replicas=1 if replicas is None else replicas,
        min_available=workload.metadata.annotations.get(MINIMUM),
        first_ordinal=workload.spec.ordinals.start,
        exempt=exempt("", workload.metadata.labels),
    )


def answer(
    request: ReviewRequest,
    asking: Asking | None,
    decision: Split,
    tiers: Tiers,
    *,
    soon: bool = False,
    refused: str = "",
) -> dict[str, Any]:
    """The response: a patch for a verdict, nothing for a pod left alone, "ask again" where neither is safe.

    A granted slot is named after the request, which is unique. `soon` is for requests that have to come back: whether
    a moment will do. Clients wait that moment themselves, and a controller's holds one of its few workers meanwhile.
    `refused` is what the ReplicaSet reports of pods that could not be created: the reason that people look for.
    """
    if decision.verdict is TierVerdict.RETRY:
        seconds = RETRY_SECONDS if soon and not refused else None
        message = decision.rule.sentence + (REPORTS + refused if refused else "")
        return refuse(request.uid, code=429, reason="TooManyRequests", message=message, retry_seconds=seconds)
    warnings = list(decision.warnings)
    patch: Patch = []
    if asking is not None and decision.verdict is TierVerdict.ON_DEMAND:
        slot = request.uid if asking.controller.kind == "ReplicaSet" else None
        warnings += _kept_cost(asking.pod) if slot is not None else []
        patch = patches.on_demand(asking.raw, tiers, slot=slot, selector=decision.selector)
    elif asking is not None and decision.verdict is TierVerdict.SPOT:
        patch = patches.spot(asking.raw, tiers)
    return allow(request.uid, patch=patch, warnings=[each.sentence for each in warnings], audit=audit(decision))


def refusal(replica_set: TieredController) -> str:
    """Why pods of the ReplicaSet could not be created, as its controller reports; empty where that is our own 429."""
    failed = (each.message for each in replica_set.status.conditions if each.type == "ReplicaFailure")
    _, reported, message = next(failed, "").rpartition(REPORTS)
    return "" if not reported and _ASK_AGAIN in message else message[:MOST_REFUSAL]


def audit(decision: Split) -> dict[str, str]:
    """What the API server's audit log keeps of a decision."""
    return {"tier": decision.verdict.value, "reason": decision.rule.code, "message": decision.rule.sentence}


def holds_slot(pod: Pod, owner_uid: str, tiers: Tiers) -> bool:
    """Whether a stored pod holds a slot of this ReplicaSet: active, its own, and bound to on-demand nodes."""
    controller = pod.metadata.controller
    return (
        controller is not None
        and controller.uid == owner_uid
        and pod.metadata.deletion_timestamp is None
        and not pod.finished
        and requires_on_demand(pod.spec, tiers)
    )


def _look(
    reference: OwnerReference, namespace: str
) -> Generator[Lookup, TieredController | None, TieredController | Split]:
    """The object that is referred to, or the verdict where it is not there."""
    found = yield Lookup(kind=reference.kind, namespace=namespace, name=reference.name, uid=reference.uid)
    if found is None or found.metadata.uid not in ("", reference.uid):
        return unmanaged(reasons.OWNER_NOT_FOUND, warn=True, kind=reference.kind, owner=reference.name)
    return found


def _is(reference: OwnerReference, kind: str) -> bool:
    return reference.kind == kind and reference.api_version.partition("/")[0] in ("apps", "")


def _decided(pod: Pod, tiers: Tiers) -> bool:
    """Called again for a pod that already has its slot: every sign of ours is there, and the rule too."""
    marked = pod.metadata.labels.get(MARKER) == "on-demand" and SLOT in pod.metadata.annotations
    return marked and requires_on_demand(pod.spec, tiers)


def _kept_cost(pod: Pod) -> list[Finding]:
    """A warning about a deletion cost that is the user's; on a pod with our slot it is our own mark from before."""
    cost = pod.metadata.annotations.get(DELETION_COST)
    ours = cost == COST and SLOT in pod.metadata.annotations
    return [] if cost is None or ours else [because(reasons.DELETION_COST_KEPT, cost=cost[:16])]


def _pod(value: Any) -> tuple[Mapping[str, Any], Pod]:
    """The pod as it came and as typed shapes."""
    if not isinstance(value, dict):
        raise InputError("$.request.object", "is not an object; expected the Pod being created")
    try:
        try:
            return value, msgspec.convert(value, Pod)
        except msgspec.ValidationError:
            # Nulls mean absent; API servers send next to none, so they are taken out only where they hurt.
            return value, msgspec.convert(drop_nulls(value), Pod)
    except UNREADABLE as error:
        message, path = words(error)
        raise InputError(f"$.request.object{path.removeprefix('$')}", message) from None
