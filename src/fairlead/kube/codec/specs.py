"""The shape of a replica back to a pod's spec: another spec than it came from, perhaps, but of the same shape."""

from collections.abc import Iterable
from typing import Any

from fairlead.kube.codec.shapes import RESTART_ALL, RESTARTS_ALL, USERS_ON_HOST_NETWORK
from fairlead.kube.objects.affinity import PREFERRED, REQUIRED
from fairlead.model.amounts import CPU
from fairlead.model.selectors import LabelSelector, Requirement, Term
from fairlead.model.shape import Neighbour, PodDisk, Shape, Spread

Spec = dict[str, Any]
PODS = "pods"


def spec_of(shape: Shape, request: Iterable[tuple[str, int]]) -> Spec:
    """A spec that asks for this much and may run where the shape may."""
    ports = [
        {"hostPort": each.number, "containerPort": each.number, "protocol": each.protocol, "hostIP": each.address}
        for each in shape.ports
    ]
    spec: Spec = {
        "containers": [{"name": "c", "resources": {"requests": quantities(request)}, "ports": ports}],
        "nodeSelector": dict(shape.node_selector),
        "tolerations": [
            {"key": each.key, "operator": each.operator, "value": each.value, "effect": each.effect}
            for each in shape.tolerations
        ],
        "topologySpreadConstraints": [_spread(each) for each in shape.spread],
        "affinity": {
            "podAffinity": _neighbours(shape.near),
            "podAntiAffinity": _neighbours(shape.far),
            "nodeAffinity": {
                PREFERRED: [{"weight": each.weight, "preference": _term(each.term)} for each in shape.preferred]
            },
        },
    }
    if shape.disks:
        spec["volumes"] = [{"name": f"d{number}", **_disk(each)} for number, each in enumerate(shape.disks)]
    if RESTARTS_ALL in shape.features:
        spec["containers"][0]["restartPolicyRules"] = [{"action": RESTART_ALL}]
    if USERS_ON_HOST_NETWORK in shape.features:
        spec |= {"hostNetwork": True, "hostUsers": False}
    if shape.required is not None:
        terms = {"nodeSelectorTerms": [_term(each) for each in shape.required]}
        spec["affinity"]["nodeAffinity"][REQUIRED] = terms
    return spec


def _disk(disk: PodDisk) -> Spec:
    match disk.kind:
        case "gce":
            return {"gcePersistentDisk": {"pdName": disk.name, "readOnly": disk.read_only}}
        case "aws":
            return {"awsElasticBlockStore": {"volumeID": disk.name}}
        case "iscsi":
            return {"iscsi": {"iqn": disk.name, "readOnly": disk.read_only}}
    pool, _, image = disk.name.partition("/")
    return {"rbd": {"monitors": list(disk.hosts or ()), "pool": pool, "image": image, "readOnly": disk.read_only}}


def quantities(request: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Amounts in their units as Kubernetes writes them; the place of a pod is not asked for."""
    return {name: f"{amount}m" if name == CPU else str(amount) for name, amount in request if name != PODS}


def _expressions(requirements: Iterable[Requirement]) -> list[Spec]:
    return [{"key": each.key, "operator": each.operator.value, "values": list(each.values)} for each in requirements]


def _term(term: Term) -> Spec:
    return {"matchExpressions": _expressions(term.labels), "matchFields": _expressions(term.fields)}


def _selector(selector: LabelSelector | None) -> Spec | None:
    return None if selector is None else {"matchExpressions": _expressions(selector.requirements)}


def _spread(spread: Spread) -> Spec:
    return {
        "topologyKey": spread.key,
        "maxSkew": spread.most_skew,
        "whenUnsatisfiable": "DoNotSchedule" if spread.hard else "ScheduleAnyway",
        "labelSelector": _selector(spread.selector),
        "minDomains": spread.least_domains,
        "nodeAffinityPolicy": "Honor" if spread.respects_affinity else "Ignore",
        "nodeTaintsPolicy": "Honor" if spread.respects_taints else "Ignore",
    }


def _neighbours(neighbours: Iterable[Neighbour]) -> Spec:
    found: Spec = {REQUIRED: [], PREFERRED: []}
    for each in neighbours:
        term = {
            "topologyKey": each.key,
            "labelSelector": _selector(each.selector),
            "namespaces": list(each.namespaces),
            "namespaceSelector": _selector(each.namespace_selector),
        }
        if each.weight:
            found[PREFERRED].append({"weight": each.weight, "podAffinityTerm": term})
        else:
            found[REQUIRED].append(term)
    return found
