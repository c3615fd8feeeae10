"""Kueue's queues (kueue.x-k8s.io) in the words of the queue level.

A ClusterQueue is a queue: its nominal quotas are guarantees, borrowing is bounded by its limits and shared by weight,
its cohort is its parent. A Workload without an owner is a gang of its pod sets; one with an owner stands for the pods
of that owner.
"""

from collections import defaultdict
from typing import Any

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of
from fairlead.kube.codec.queues import LOCAL_QUEUE
from fairlead.model.amounts import amount, quantity


def adapt(value: Value) -> Adapted:
    """By kind; LocalQueues are read as they are (`objects.kueue`)."""
    return _ADAPTERS[value["kind"]](value)


def _queue(value: Value) -> Adapted:
    spec = spec_of(value)
    nominal, most, left_out = _quotas(spec)
    parent = spec.get("cohortName") or spec.get("cohort") or spec.get("parentName") or spec.get("parent") or ""
    is_cohort = value["kind"] == "Cohort"
    weight = (spec.get("fairSharing") or {}).get("weight", 1)
    stopped = spec.get("stopPolicy") in ("Hold", "HoldAndDrain")
    # Without a cohort nothing can be borrowed: the quota is the bound. A cohort's bound is that of its members.
    bound = {} if is_cohort else nominal if not parent else most
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": (value.get("metadata") or {}).get("name", "")},
        "spec": {
            "weight": max(number(weight, 1), 1) if isinstance(weight, int) else 1,
            "guarantee": {"resource": nominal},
            "capability": bound,
            "parent": parent,
        },
        "status": {"state": "Closed" if stopped else "Open"},
    }
    unmapped = [name for name in ("preemption", "admissionChecks", "flavorFungibility") if spec.get(name)]
    if (spec.get("namespaceSelector") or {}) != {}:
        unmapped.append("namespaceSelector")
    above = {"apiVersion": queue["apiVersion"], "kind": "Queue", "metadata": {"name": parent}, "spec": {}}
    return Adapted((queue,), (*left_out, *unmapped), (above,) if parent else ())


def _quotas(spec: Value) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Nominal quotas and the most that may be held, over all flavours; a resource without a limit is not bounded."""
    nominal: dict[str, int] = defaultdict(int)
    most: dict[str, int | None] = defaultdict(int)
    left_out: list[str] = []
    for group in spec.get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for each in flavor.get("resources") or ():
                name = str(each.get("name", ""))
                quota = amount(name, each.get("nominalQuota", 0), f"nominalQuota of {name}")
                nominal[name] += quota
                limit, so_far = each.get("borrowingLimit"), most[name]
                more = None if limit is None else quota + amount(name, limit, f"borrowingLimit of {name}")
                most[name] = None if more is None or so_far is None else so_far + more
                if each.get("lendingLimit") is not None:
                    left_out.append(f"lendingLimit of {name}")
    written = {name: quantity(name, value) for name, value in nominal.items()}
    return written, {name: quantity(name, value) for name, value in most.items() if value is not None}, left_out


def _flavor(value: Value) -> Adapted:
    named = [name for name in ("nodeLabels", "nodeTaints", "tolerations", "topologyName") if spec_of(value).get(name)]
    return Adapted((), tuple(named))


def _workload(value: Value) -> Adapted:
    meta, spec = value.get("metadata") or {}, spec_of(value)
    if meta.get("ownerReferences"):
        return Adapted()
    idle = "it is not active" if spec.get("active") is False else ""
    roles = [
        PodRole(
            name=str(each.get("name", "main")),
            replicas=0 if idle else number(each.get("count"), 1),
            template=each.get("template") or {},
            idle=idle,
        )
        for each in spec.get("podSets") or ()
    ]
    whole = sum(each.replicas for each in roles)
    marked: dict[str, Any] = {**meta, "labels": {**(meta.get("labels") or {}), LOCAL_QUEUE: spec.get("queueName", "")}}
    return Adapted(roles_of({**value, "metadata": marked}, roles, least=max(whole, 1)))


_ADAPTERS = {"ClusterQueue": _queue, "Cohort": _queue, "ResourceFlavor": _flavor, "Workload": _workload}
