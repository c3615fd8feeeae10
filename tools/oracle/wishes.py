"""Where pods want to run: selectors, affinities, tolerations and spread constraints at random."""

from __future__ import annotations

from tools.oracle.draw import Draw, Raw
from tools.oracle.vocabulary import (
    EFFECTS,
    HOST,
    NAMESPACE_LABELS,
    NAMESPACES,
    NODE_LABELS,
    POD_LABELS,
    REGION,
    TAINT_KEYS,
    TAINT_VALUES,
    ZONE,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
BOUNDS = ("0", "4", "5", "05", "9223372036854775807", "9223372036854775808", "many")
TOPOLOGY = (ZONE, HOST, REGION, "absent")


def expression(draw: Draw, labels: dict[str, tuple[str, ...]], operators: tuple[str, ...]) -> Raw:
    """One requirement on labels."""
    key, operator = draw.one([*labels, "absent"]), draw.one(operators)
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    if operator in ("Gt", "Lt"):
        return {"key": draw.one(("size", key)), "operator": operator, "values": [draw.one(BOUNDS)]}
    return {"key": key, "operator": operator, "values": draw.some(labels.get(key, ("x",)), 2, 1)}


def selector(draw: Draw, labels: dict[str, tuple[str, ...]]) -> Raw | None:
    """A label selector; sometimes none, sometimes empty."""
    if draw.chance(0.06):
        return None
    found: Raw = {}
    if draw.chance(0.6):
        found["matchLabels"] = {key: draw.one(labels[key]) for key in draw.some(labels, 1, 1)}
    if draw.chance(0.4):
        operators = ("In", "NotIn", "Exists", "DoesNotExist")
        found["matchExpressions"] = [expression(draw, labels, operators) for _ in range(draw.number(1, 2))]
    return found


def node_term(draw: Draw, names: list[str]) -> Raw:
    """A term of a node selector; sometimes without any condition."""
    found: Raw = {}
    operators = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    if draw.chance(0.8):
        found["matchExpressions"] = [expression(draw, NODE_LABELS, operators) for _ in range(draw.number(1, 2))]
    if draw.chance(0.25):
        name = draw.one([*names, "nowhere"])
        found["matchFields"] = [{"key": "metadata.name", "operator": draw.one(("In", "NotIn")), "values": [name]}]
    return found


def node_wishes(draw: Draw, names: list[str]) -> Raw:
    """`nodeSelector` and node affinity."""
    found: Raw = {}
    if draw.chance(0.4):
        found["nodeSelector"] = {key: draw.one(NODE_LABELS[key]) for key in draw.some(NODE_LABELS, 2, 1)}
    if draw.chance(0.6):
        affinity: Raw = {}
        if draw.chance(0.8):
            affinity[REQUIRED] = {"nodeSelectorTerms": [node_term(draw, names) for _ in range(draw.number(1, 3))]}
        if draw.chance(0.3):
            affinity[PREFERRED] = [{"weight": 10, "preference": node_term(draw, names)}]
        found["affinity"] = {"nodeAffinity": affinity}
    return found


def toleration(draw: Draw) -> Raw:
    """A toleration with any operator, effect, key or none."""
    found: Raw = {}
    if draw.chance(0.7):
        found["effect"] = draw.one(EFFECTS)
    if draw.chance(0.1):
        return {**found, "operator": "Exists"}
    found["key"] = draw.one(TAINT_KEYS)
    if draw.chance(0.5):
        return {**found, "operator": "Exists"}
    if draw.chance(0.5):
        found["operator"] = "Equal"
    return {**found, "value": draw.one(TAINT_VALUES)}


def neighbour(draw: Draw) -> Raw:
    """A term of inter-pod affinity."""
    term: Raw = {"topologyKey": draw.one(TOPOLOGY), "labelSelector": selector(draw, POD_LABELS)}
    if draw.chance(0.25):
        term["namespaces"] = draw.some(NAMESPACES, 2, 1)
    if draw.chance(0.3):
        term["namespaceSelector"] = selector(draw, NAMESPACE_LABELS)
    if term["labelSelector"] is not None:
        named = set(term["labelSelector"].get("matchLabels", {}))
        named |= {each["key"] for each in term["labelSelector"].get("matchExpressions", ())}
        others = [key for key in (*POD_LABELS, "absent") if key not in named]
        same = draw.some(others, 1) if draw.chance(0.2) else []
        other = draw.some([key for key in others if key not in same], 1) if draw.chance(0.2) else []
        term |= {"matchLabelKeys": same, "mismatchLabelKeys": other}
    return term


def neighbours(draw: Draw) -> Raw:
    """Affinity and anti-affinity, required and preferred."""
    found: Raw = {}
    for kind, share in (("podAffinity", 0.45), ("podAntiAffinity", 0.6)):
        if draw.chance(share):
            found[kind] = {REQUIRED: [neighbour(draw) for _ in range(draw.number(1, 2))]}
            if draw.chance(0.2):
                found[kind][PREFERRED] = [{"weight": 5, "podAffinityTerm": neighbour(draw)}]
    return found


def spread(draw: Draw, used: set[tuple[str, str]]) -> Raw | None:
    """A topology spread constraint; None where the pod has one for the same key already."""
    found: Raw = {
        "topologyKey": draw.one(TOPOLOGY),
        "maxSkew": draw.number(1, 3),
        "whenUnsatisfiable": draw.one(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": selector(draw, POD_LABELS),
    }
    if (found["topologyKey"], found["whenUnsatisfiable"]) in used:
        return None
    used.add((found["topologyKey"], found["whenUnsatisfiable"]))
    if found["whenUnsatisfiable"] == "DoNotSchedule" and draw.chance(0.4):
        found["minDomains"] = draw.number(1, 4)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if draw.chance(0.5):
            found[policy] = draw.one(("Honor", "Ignore"))
    if found["labelSelector"] is not None and draw.chance(0.3):
        named = {*found["labelSelector"].get("matchLabels", {})}
        named |= {each["key"] for each in found["labelSelector"].get("matchExpressions", ())}
        found["matchLabelKeys"] = [key for key in draw.some((*POD_LABELS, "absent"), 2) if key not in named]
    return found
