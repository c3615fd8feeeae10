"""Kubernetes' placement rules, written down a second time from the API's documentation. Plain dictionaries only.

`violations` looks at a cluster at rest: every bound pod must be allowed on its node by all the others, and every
pod that waits must be refused by every node. Both are the same question: may this pod, taken out, go to that node?
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

Object = dict[str, Any]

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip


def quantity(text: Any) -> Fraction:
    """The exact value of a quantity."""
    written = str(text)
    digits = written.rstrip("numkMGTi") if written[-1].isalpha() else written
    return Fraction(digits) * SUFFIXES[written[len(digits) :]]


def requests(resources: Object) -> dict[str, Fraction]:
    """What is asked for; a limit stands in for a missing request."""
    merged = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {name: quantity(value) for name, value in merged.items()}


def pod_request(pod: Object) -> dict[str, Fraction]:
    """What a pod takes on its node."""
    spec = pod["spec"]
    sidecars: dict[str, Fraction] = defaultdict(Fraction)
    peak: dict[str, Fraction] = defaultdict(Fraction)
    for container in spec.get("initContainers", ()):
        own = requests(container.get("resources", {}))
        if container.get("restartPolicy") == "Always":
            for name, value in own.items():
                sidecars[name] += value
            during = dict(sidecars)
        else:
            during = {name: sidecars.get(name, 0) + own.get(name, 0) for name in {*sidecars, *own}}
        for name, value in during.items():
            peak[name] = max(peak[name], value)
    total = defaultdict(Fraction, sidecars)
    for container in spec["containers"]:
        for name, value in requests(container.get("resources", {})).items():
            total[name] += value
    total = defaultdict(Fraction, {name: max(total[name], peak[name]) for name in {*total, *peak}})
    for name, value in requests(spec.get("resources", {})).items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = value
    for name, value in spec.get("overhead", {}).items():
        total[name] += quantity(value)
    return {**total, "pods": Fraction(1)}


def holds(expression: Object, labels: Object) -> bool:
    """One match expression on labels."""
    value, values = labels.get(expression["key"]), expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case "Lt":
            return value is not None and int(value) < int(values[0])
    raise AssertionError(expression)


def selects(selector: Object | None, labels: Object) -> bool:
    """A label selector; absent selects nothing."""
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(holds(each, labels) for each in selector.get("matchExpressions") or ())


def term_matches(term: Object, node: Object) -> bool:
    """A node selector term; an empty one matches nothing."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    own = {"metadata.name": node["metadata"]["name"]}
    return all(holds(each, labels_of(node)) for each in expressions) and all(holds(each, own) for each in fields)


def any_term(selector: Object | None, node: Object) -> bool:
    """A node selector: absent allows all."""
    return selector is None or any(term_matches(term, node) for term in selector["nodeSelectorTerms"])


def labels_of(thing: Object) -> Object:
    """Its labels."""
    return thing["metadata"].get("labels") or {}


def selected(pod: Object, node: Object) -> bool:
    """Node selector and required node affinity."""
    wanted = pod["spec"].get("nodeSelector") or {}
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return all(labels_of(node).get(key) == value for key, value in wanted.items()) and any_term(
        affinity.get("requiredDuringSchedulingIgnoredDuringExecution"), node
    )


def tolerates(pod: Object, node: Object) -> bool:
    """Every taint that repels is tolerated."""
    return all(
        any(_tolerates(each, taint) for each in pod["spec"].get("tolerations") or ())
        for taint in node["spec"].get("taints") or ()
        if taint["effect"] in ("NoSchedule", "NoExecute")
    )


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint["key"]
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")


def host_ports(pod: Object) -> set[tuple[int, str, str]]:
    """Ports on the node itself."""
    return {
        (port["hostPort"], port.get("protocol", "TCP"), port.get("hostIP") or "0.0.0.0")
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }


def wishes(pod: Object, kind: str) -> list[Object]:
    """The required terms of podAffinity or podAntiAffinity."""
    found = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return list(found.get("requiredDuringSchedulingIgnoredDuringExecution") or ())


def narrowed(selector: Object | None, pod: Object, same: Iterable[str], other: Iterable[str] = ()) -> Object | None:
    """The selector with matchLabelKeys and mismatchLabelKeys filled in."""
    if selector is None:
        return None
    own = labels_of(pod)
    more = [{"key": key, "operator": "In", "values": [own[key]]} for key in same if key in own]
    less = [{"key": key, "operator": "NotIn", "values": [own[key]]} for key in other if key in own]
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *more, *less]}


class Cluster:
    """A cluster at rest. Whatever pods that are alike share is looked up once, for it does not change."""

    def __init__(
        self,
        nodes: list[Object],
        pods: list[Object],
        namespaces: list[Object] = (),  # type: ignore[assignment]  # an empty sequence of any kind
        claims: list[Object] = (),  # type: ignore[assignment]
        volumes: list[Object] = (),  # type: ignore[assignment]
        classes: list[Object] = (),  # type: ignore[assignment]
        csi_nodes: list[Object] = (),  # type: ignore[assignment]
    ) -> None:
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        alive = [pod for pod in pods if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
        self.bound = [pod for pod in alive if pod["spec"].get("nodeName") in self.nodes]
        self.waiting = [
            pod for pod in alive if not pod["spec"].get("nodeName") and not pod["spec"].get("schedulingGates")
        ]
        self.namespaces = {each["metadata"]["name"]: labels_of(each) for each in namespaces}
        self.claims = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in claims}
        self.volumes = {each["metadata"]["name"]: each for each in volumes}
        self.classes = {each["metadata"]["name"]: each for each in classes}
        self.limits = {
            (each["metadata"]["name"], driver["name"]): driver["allocatable"]["count"]
            for each in csi_nodes
            for driver in each["spec"].get("drivers") or ()
            if (driver.get("allocatable") or {}).get("count") is not None
        }
        self._kinds: dict[int, str] = {}
        self._seen: dict[tuple[str, str], list[Object]] = {}
        self._found: dict[tuple[str, str], dict[str, set[int]]] = {}
        self._refusing: dict[str, dict[tuple[str, str], set[int]]] = {}
        self._counted: dict[tuple[str, str], tuple[dict[str, int], set[int]]] = {}
        self._offered: dict[str, dict[str, Fraction]] = {
            name: {resource: quantity(amount) for resource, amount in node["status"]["allocatable"].items()}
            for name, node in self.nodes.items()
        }
        self._requests: dict[int, dict[str, Fraction]] = {}
        self._rules = {
            "unschedulable": self._ready,
            "selector": lambda pod, node: selected(pod, node),
            "taint": lambda pod, node: tolerates(pod, node),
            "resources": self._fits,
            "ports": self._ports,
            "apart": self._apart,
            "together": self._together,
            "spread": self._even,
            "volumes": self._volumes,
        }

    @cached_property
    def here(self) -> dict[str, list[Object]]:
        """Bound pods by node."""
        found = defaultdict(list)
        for pod in self.bound:
            found[pod["spec"]["nodeName"]].append(pod)
        return found

    @cached_property
    def used(self) -> dict[str, dict[str, Fraction]]:
        """What bound pods take of each node."""
        found: dict[str, dict[str, Fraction]] = {name: defaultdict(Fraction) for name in self.nodes}
        for pod in self.bound:
            for name, value in pod_request(pod).items():
                found[pod["spec"]["nodeName"]][name] += value
        return found

    def kind(self, pod: Object) -> str:
        """Equal for pods that no rule but those of volumes can tell apart."""
        if id(pod) not in self._kinds:
            spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "volumes")}
            self._kinds[id(pod)] = json.dumps([pod["metadata"]["namespace"], labels_of(pod), spec], sort_keys=True)
        return self._kinds[id(pod)]

    def node_of(self, pod: Object) -> Object:
        """Where a bound pod is."""
        return self.nodes[pod["spec"]["nodeName"]]

    def domain(self, pod: Object, key: str) -> str | None:
        """The value of a topology key where a bound pod is."""
        return labels_of(self.node_of(pod)).get(key)

    def about(self, term: Object, owner: Object, other: Object) -> bool:
        """Whether a term of `owner` is about the pod `other`."""
        namespace = other["metadata"]["namespace"]
        names, selector = term.get("namespaces") or [], term.get("namespaceSelector")
        if not names and selector is None:
            near = namespace == owner["metadata"]["namespace"]
        else:
            near = namespace in names or (selector is not None and selects(selector, self.namespaces[namespace]))
        chosen = narrowed(
            term.get("labelSelector"), owner, term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
        )
        return near and selects(chosen, labels_of(other))

    def seen(self, term: Object, owner: Object) -> list[Object]:
        """Bound pods that a term is about."""
        key = self.kind(owner), repr(term)
        if key not in self._seen:
            self._seen[key] = [pod for pod in self.bound if self.about(term, owner, pod)]
        return self._seen[key]

    def refusals(self, pod: Object, node: Object) -> list[str]:
        """Why the pod, wherever it is now, must not be on the node; empty where it may."""
        return [name for name, kept in self._rules.items() if not kept(pod, node)]

    def takes(self, pod: Object, node: Object) -> bool:
        """Whether the pod may be on the node."""
        return all(kept(pod, node) for kept in self._rules.values())

    @staticmethod
    def _ready(pod: Object, node: Object) -> bool:
        cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        tolerated = any(_tolerates(each, cordoned) for each in pod["spec"].get("tolerations") or ())
        return tolerated or not node["spec"].get("unschedulable")

    def _fits(self, pod: Object, node: Object) -> bool:
        name = node["metadata"]["name"]
        if id(pod) not in self._requests:
            self._requests[id(pod)] = pod_request(pod)
        there = pod["spec"].get("nodeName") == name
        return all(
            self.used[name][resource] + (0 if there else value) <= self._offered[name].get(resource, 0)
            for resource, value in self._requests[id(pod)].items()
            if value
        )

    def _others(self, pod: Object, node: Object) -> list[Object]:
        return [each for each in self.here[node["metadata"]["name"]] if each is not pod]

    def _ports(self, pod: Object, node: Object) -> bool:
        own = host_ports(pod)
        return not any(
            mine[:2] == theirs[:2] and (mine[2] == theirs[2] or "0.0.0.0" in (mine[2], theirs[2]))
            for each in (self._others(pod, node) if own else ())
            for theirs in host_ports(each)
            for mine in own
        )

    def _against(self, pod: Object) -> dict[tuple[str, str], set[int]]:
        """Domains in which bound pods want nobody like this one, and who they are."""
        key = self.kind(pod)
        if key not in self._refusing:
            found: dict[tuple[str, str], set[int]] = defaultdict(set)
            for owner in self.bound:
                for term in wishes(owner, "podAntiAffinity"):
                    value = self.domain(owner, term["topologyKey"])
                    if value is not None and self.about(term, owner, pod):
                        found[term["topologyKey"], value].add(id(owner))
            self._refusing[key] = found
        return self._refusing[key]

    def _near(self, pod: Object, terms: list[Object], key: str) -> dict[str, set[int]]:
        """Domains of a key with bound pods that all the terms are about, and who they are."""
        at = self.kind(pod), repr((terms, key))
        if at not in self._found:
            found: dict[str, set[int]] = defaultdict(set)
            for each in self.seen(terms[0], pod):
                value = self.domain(each, key)
                if value is not None and all(self.about(term, pod, each) for term in terms[1:]):
                    found[value].add(id(each))
            self._found[at] = found
        return self._found[at]

    def _apart(self, pod: Object, node: Object) -> bool:
        for term in wishes(pod, "podAntiAffinity"):
            value = labels_of(node).get(term["topologyKey"])
            if value is not None and self._near(pod, [term], term["topologyKey"]).get(value, set()) - {id(pod)}:
                return False
        return not any(
            labels_of(node).get(key) == value and owners - {id(pod)}
            for (key, value), owners in self._against(pod).items()
        )

    def _together(self, pod: Object, node: Object) -> bool:
        terms = wishes(pod, "podAffinity")
        if not terms:
            return True
        if any(term["topologyKey"] not in labels_of(node) for term in terms):
            return False
        found = {term["topologyKey"]: self._near(pod, terms, term["topologyKey"]) for term in terms}
        if all(domains.get(labels_of(node)[key], set()) - {id(pod)} for key, domains in found.items()):
            return True
        keyed = any(who - {id(pod)} for domains in found.values() for who in domains.values())
        return not keyed and all(self.about(term, pod, pod) for term in terms)

    def _even(self, pod: Object, node: Object) -> bool:
        hard = [
            each
            for each in pod["spec"].get("topologySpreadConstraints") or ()
            if each["whenUnsatisfiable"] == "DoNotSchedule"
        ]
        keys = [each["topologyKey"] for each in hard]
        return all(self._even_in(pod, node, constraint, keys) for constraint in hard)

    def _even_in(self, pod: Object, node: Object, constraint: Object, keys: list[str]) -> bool:
        key = constraint["topologyKey"]
        if key not in labels_of(node):
            return False
        counts, who = self._spread(pod, constraint, keys)
        if id(pod) in who:
            mine = labels_of(self.node_of(pod))[key]
            counts = {**counts, mine: counts[mine] - 1}
        least = min(counts.values(), default=0)
        if len(counts) < (constraint.get("minDomains") or 1):
            least = 0
        chosen = narrowed(constraint.get("labelSelector"), pod, constraint.get("matchLabelKeys") or ())
        own = int(selects(chosen, labels_of(pod)))
        return counts.get(labels_of(node)[key], 0) + own - least <= constraint["maxSkew"]

    def _spread(self, pod: Object, constraint: Object, keys: list[str]) -> tuple[dict[str, int], set[int]]:
        """Pods by domain of a constraint, and which pods were counted."""
        at = self.kind(pod), repr(constraint)
        if at not in self._counted:
            self._counted[at] = self._count(pod, constraint, keys)
        return self._counted[at]

    def _count(self, pod: Object, constraint: Object, keys: list[str]) -> tuple[dict[str, int], set[int]]:
        key = constraint["topologyKey"]
        chosen = narrowed(constraint.get("labelSelector"), pod, constraint.get("matchLabelKeys") or ())
        counts: dict[str, int] = {}
        eligible = set()
        for name, each in self.nodes.items():
            if any(wanted not in labels_of(each) for wanted in keys):
                continue
            if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not selected(pod, each):
                continue
            if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor" and not tolerates(pod, each):
                continue
            eligible.add(name)
            counts.setdefault(labels_of(each)[key], 0)
        who = set()
        for each in self.seen({"labelSelector": chosen, "topologyKey": key}, pod):
            if each["spec"]["nodeName"] in eligible and not each["metadata"].get("deletionTimestamp"):
                counts[labels_of(self.node_of(each))[key]] += 1
                who.add(id(each))
        return counts, who

    def _volumes(self, pod: Object, node: Object) -> bool:
        names = claim_names(pod)
        if not names:
            return True
        taken: set[str] = set()
        for name in names:
            claim = self.claims.get((pod["metadata"]["namespace"], name))
            if claim is None or not self._claim_reaches(pod, claim, node, taken):
                return False
        return self._attachable(pod, node)

    @cached_property
    def _users(self) -> dict[tuple[str, str], list[Object]]:
        found = defaultdict(list)
        for pod in self.bound:
            for name in claim_names(pod):
                found[pod["metadata"]["namespace"], name].append(pod)
        return found

    def _claim_reaches(self, pod: Object, claim: Object, node: Object, taken: set[str]) -> bool:
        users = self._users.get((claim["metadata"]["namespace"], claim["metadata"]["name"]), ())
        if "ReadWriteOncePod" in claim["spec"]["accessModes"] and any(each is not pod for each in users):
            return False
        volume = self.volumes.get(claim["spec"].get("volumeName") or "")
        if volume is not None:
            return _reachable(volume, node)
        kind = self.classes.get(claim["spec"].get("storageClassName") or "")
        if kind is None or kind.get("volumeBindingMode") != "WaitForFirstConsumer":
            return False
        chosen = (claim["metadata"].get("annotations") or {}).get("volume.kubernetes.io/selected-node")
        if chosen:
            return bool(chosen == node["metadata"]["name"])
        for each in self._free:
            if each["metadata"]["name"] not in taken and _suits(each, claim) and _reachable(each, node):
                taken.add(each["metadata"]["name"])
                return True
        if kind["provisioner"] == "kubernetes.io/no-provisioner":
            return False
        topologies = kind.get("allowedTopologies")
        return not topologies or any(
            all(labels_of(node).get(each["key"]) in each["values"] for each in one["matchLabelExpressions"])
            for one in topologies
        )

    @cached_property
    def _free(self) -> list[Object]:
        return [
            each
            for each in self.volumes.values()
            if each["status"].get("phase") == "Available" and "claimRef" not in each["spec"]
        ]

    def _attachable(self, pod: Object, node: Object) -> bool:
        name = node["metadata"]["name"]
        mine = self._attached(pod)
        there = {each for other in self._others(pod, node) for each in self._attached(other)}
        for driver in {driver for driver, _ in mine - there}:
            limit = self.limits.get((name, driver))
            if limit is not None and sum(each[0] == driver for each in mine | there) > limit:
                return False
        return True

    def _attached(self, pod: Object) -> set[tuple[str, str]]:
        found = set()
        for name in claim_names(pod):
            claim = self.claims.get((pod["metadata"]["namespace"], name))
            volume = self.volumes.get(((claim or {}).get("spec") or {}).get("volumeName") or "")
            if volume is not None:
                if "csi" in volume["spec"]:
                    found.add((volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["volumeHandle"]))
            elif claim is not None:
                kind = self.classes.get(claim["spec"].get("storageClassName") or "")
                if kind is not None and kind["provisioner"] != "kubernetes.io/no-provisioner":
                    found.add((kind["provisioner"], f"{pod['metadata']['namespace']}/{name}"))
        return found


def _suits(volume: Object, claim: Object) -> bool:
    """Whether a free volume would do."""
    return (
        volume["spec"].get("storageClassName") == claim["spec"].get("storageClassName")
        and set(claim["spec"]["accessModes"]) <= set(volume["spec"]["accessModes"])
        and quantity(volume["spec"]["capacity"]["storage"])
        >= quantity(claim["spec"]["resources"]["requests"]["storage"])
    )


def _reachable(volume: Object, node: Object) -> bool:
    return any_term((volume["spec"].get("nodeAffinity") or {}).get("required"), node)


def claim_names(pod: Object) -> list[str]:
    """The claims a pod uses."""
    names = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            names.append(f"{pod['metadata']['name']}-{volume['name']}")
    return names


def violations(cluster: Cluster) -> list[str]:
    """Bound pods that break a rule, and waiting pods that some node would take."""
    found = []
    for pod in cluster.bound:
        node = cluster.node_of(pod)
        broken = [rule for rule in cluster.refusals(pod, node) if rule != "unschedulable"]
        if broken:
            found.append(f"{pod['metadata']['name']} on {node['metadata']['name']} breaks {', '.join(broken)}")
    asked: dict[str, str] = {}
    for pod in cluster.waiting:
        owner = (pod["metadata"].get("ownerReferences") or [{}])[0].get("uid")
        key = owner if owner and not claim_names(pod) else pod["metadata"]["uid"]
        if key not in asked:
            open_ = (name for name, node in cluster.nodes.items() if cluster.takes(pod, node))
            asked[key] = next(open_, "")
        if asked[key]:
            found.append(f"{pod['metadata']['name']} waits although {asked[key]} would take it")
    return found
