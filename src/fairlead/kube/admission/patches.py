"""The JSON patch (RFC 6902) that gives a pod its tier: as few operations as possible, and none the second time.

Rules: a requirement is ANDed into every existing term, because terms are ORed; a term without expressions selects no
node and stays so; what the user wrote is never removed. So the set of nodes that a pod may use never grows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairlead.kube.admission.labels import of_requirement, of_terms
from fairlead.kube.admission.review import Patch
from fairlead.kube.admission.rules import COST, DELETION_COST, GATE, MARKER, PENDING, SLOT
from fairlead.kube.decode import drop_nulls
from fairlead.kube.objects.affinity import PREFERRED, REQUIRED, NodeSelectorTerm, TolerationSpec
from fairlead.kube.objects.meta import RequirementSpec
from fairlead.kube.patches import pointer
from fairlead.model.selectors import Requirement, Toleration
from fairlead.model.tiers import Tiers

Raw = Mapping[str, Any]


def on_demand(pod: Raw, tiers: Tiers, *, slot: str | None, selector: bool) -> Patch:
    """Require on-demand nodes and mark the pod.

    With a slot it also gets the deletion cost that keeps it longest when a ReplicaSet shrinks, unless it has its
    own. `selector` asks for a node selector instead of an affinity term, where the rule can be written as one.
    """
    annotations = {} if slot is None else {SLOT: slot}
    if slot is not None and DELETION_COST not in _at(pod, "metadata", "annotations"):
        annotations[DELETION_COST] = COST
    patch = _set(pod, ("metadata", "labels"), {MARKER: "on-demand"}) + _set(
        pod, ("metadata", "annotations"), annotations
    )
    entry = _selector(pod, tiers.on_demand) if selector else None
    return patch + (require(pod, tiers.on_demand) if entry is None else _set(pod, ("spec", "nodeSelector"), entry))


def spot(pod: Raw, tiers: Tiers) -> Patch:
    """Prefer spot nodes, tolerate their taints, mark the pod; a slot it never was granted is taken off."""
    patch = _set(pod, ("metadata", "labels"), {MARKER: "spot"})
    if SLOT in _at(pod, "metadata", "annotations"):
        patch.append({"op": "remove", "path": pointer("metadata", "annotations", SLOT)})
    terms = [{"weight": tiers.weight, "preference": {"matchExpressions": [_expression(each)]}} for each in tiers.spot]
    patch += _append(pod, ("spec", "affinity", "nodeAffinity", PREFERRED), terms)
    return patch + _append(pod, ("spec", "tolerations"), [_toleration(each) for each in tiers.tolerations])


def require(pod: Raw, requirements: Sequence[Requirement]) -> Patch:
    """AND the requirements into every term that can select a node, as far as it does not demand them already."""
    path = ("spec", "affinity", "nodeAffinity", REQUIRED)
    if _at(pod, *path[:-1]).get(REQUIRED) is None:
        return _create(pod, path, {"nodeSelectorTerms": [{"matchExpressions": [*map(_expression, requirements)]}]})
    patch: Patch = []
    for row, term in enumerate(_at(pod, *path).get("nodeSelectorTerms") or ()):
        typed = msgspec.convert(drop_nulls(term), NodeSelectorTerm)
        missing = [_expression(each) for each in requirements if not _demands(typed, each)]
        at = pointer(*path, "nodeSelectorTerms", str(row), "matchExpressions")
        if typed.match_expressions:
            patch += [{"op": "add", "path": f"{at}/-", "value": each} for each in missing]
        elif missing:
            patch.append({"op": "add", "path": at, "value": missing})
    return patch


def _demands(term: NodeSelectorTerm, requirement: Requirement) -> bool:
    """Whether the term selects only nodes that satisfy the requirement; one that selects none does."""
    return all(allowed.within(of_requirement(requirement)) for allowed in of_terms((term,), requirement.key))


def _selector(pod: Raw, requirements: Sequence[Requirement]) -> dict[str, str] | None:
    """The requirement as an entry of the node selector; None where it cannot be one, or another value is there."""
    (requirement, *others) = requirements
    if others or requirement.operator != "In" or len(requirement.values) != 1:
        return None
    value = requirement.values[0]
    there = _at(pod, "spec", "nodeSelector").get(requirement.key, value)
    return {requirement.key: value} if there == value else None


def hold(pod: Raw) -> Patch:
    """Keep the pod from the scheduler until it is given its tier, and mark it so that it is found."""
    return _set(pod, ("metadata", "labels"), {MARKER: PENDING}) + _append(
        pod, ("spec", "schedulingGates"), [{"name": GATE}]
    )


def release(pod: Raw) -> Patch:
    """Lift our gate from a stored pod; other gates stay. The pod must not have changed since it was read."""
    for row, each in enumerate(_at(pod, "spec").get("schedulingGates") or ()):
        if each.get("name") == GATE:
            path = ("spec", "schedulingGates", str(row))
            return [
                {"op": "test", "path": pointer(*path, "name"), "value": GATE},
                {"op": "remove", "path": pointer(*path)},
            ]
    return []


def unmark(pod: Raw) -> Patch:
    """Take our mark off a stored pod that is given no tier."""
    marked = MARKER in _at(pod, "metadata", "labels")
    return [{"op": "remove", "path": pointer("metadata", "labels", MARKER)}] if marked else []


def _set(pod: Raw, path: tuple[str, ...], entries: Mapping[str, str]) -> Patch:
    """Put the entries that differ into the map at `path`."""
    there = _at(pod, *path)
    missing = {key: value for key, value in entries.items() if there.get(key) != value}
    if not missing:
        return []
    if not there:
        return _create(pod, path, missing)
    return [{"op": "add", "path": pointer(*path, key), "value": value} for key, value in missing.items()]


def _append(pod: Raw, path: tuple[str, ...], values: list[dict[str, Any]]) -> Patch:
    """Append the values that are not in the list at `path` yet."""
    there = _at(pod, *path[:-1]).get(path[-1]) or []
    missing = [value for value in values if value not in there]
    if not missing:
        return []
    if not there:
        return _create(pod, path, missing)
    return [{"op": "add", "path": f"{pointer(*path)}/-", "value": value} for value in missing]


def _create(pod: Raw, path: tuple[str, ...], value: Any) -> Patch:
    """One operation that adds `value` at `path` together with every parent that is not there."""
    depth = 1
    while depth < len(path) and _at(pod, *path[:depth]):
        depth += 1
    for key in reversed(path[depth:]):
        value = {key: value}
    return [{"op": "add", "path": pointer(*path[:depth]), "value": value}]


def _at(pod: Raw, *path: str) -> Raw:
    """The mapping at `path`, an empty one where there is none; null means absent, as everywhere in Kubernetes."""
    here: Any = pod
    for key in path:
        here = here.get(key) or {}
    result: Raw = here
    return result


def _expression(requirement: Requirement) -> dict[str, Any]:
    return _plain(RequirementSpec(key=requirement.key, operator=requirement.operator.value, values=requirement.values))


def _toleration(toleration: Toleration) -> dict[str, Any]:
    return _plain(
        TolerationSpec(
            key=toleration.key,
            operator=toleration.operator,
            value=toleration.value,
            effect=str(toleration.effect),
            toleration_seconds=toleration.seconds,
        )
    )


def _plain(shape: Any) -> dict[str, Any]:
    """A shape as the API server would print it: empty fields left out."""
    result: dict[str, Any] = msgspec.to_builtins(shape)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in result.items()}
