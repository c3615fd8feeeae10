"""Kubernetes' placement rules, written down a second time from the API's documentation. Plain dictionaries only.

`violations` looks at a cluster at rest: every bound pod must be allowed on its node by all the others, and every
pod that waits must be refused by every node. Both are the same question: may this pod, taken out, go to that node?
"""

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
    """A cluster at rest."""

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
        self._seen: dict[str, list[Object]] = {}

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
        """Bound pods that a term is about; remembered, since the pods of a workload share their terms."""
        key = repr((term, owner["metadata"]["namespace"], sorted(labels_of(owner).items())))
        if key not in self._seen:
            self._seen[key] = [pod for pod in self.bound if self.about(term, owner, pod)]
        return self._seen[key]

    def refusals(self, pod: Object, node: Object) -> list[str]:
        """Why the pod, wherever it is now, must not be on the node; empty where it may."""
        rules = {
            "unschedulable": self._ready(node),
            "selector": selected(pod, node),
            "taint": tolerates(pod, node),
            "resources": self._fits(pod, node),
            "ports": self._ports(pod, node),
            "apart": self._apart(pod, node),
            "together": self._together(pod, node),
            "spread": self._even(pod, node),
            "volumes": self._volumes(pod, node),
        }
        return [name for name, kept in rules.items() if not kept]

    @staticmethod
    def _ready(node: Object) -> bool:
        return not node["spec"].get("unschedulable")

    def _fits(self, pod: Object, node: Object) -> bool:
        name = node["metadata"]["name"]
        own = pod_request(pod)
        there = pod["spec"].get("nodeName") == name
        return all(
            self.used[name][resource] + (0 if there else value)
            <= quantity(node["status"]["allocatable"].get(resource, 0))
            for resource, value in own.items()
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

    @cached_property
    def _wary(self) -> list[tuple[Object, Object]]:
        return [(pod, term) for pod in self.bound for term in wishes(pod, "podAntiAffinity")]

    def _apart(self, pod: Object, node: Object) -> bool:
        for term in wishes(pod, "podAntiAffinity"):
            value = labels_of(node).get(term["topologyKey"])
            if value is not None and any(
                each is not pod and self.domain(each, term["topologyKey"]) == value for each in self.seen(term, pod)
            ):
                return False
        return not any(
            owner is not pod
            and labels_of(node).get(term["topologyKey"]) is not None
            and self.domain(owner, term["topologyKey"]) == labels_of(node)[term["topologyKey"]]
            and self.about(term, owner, pod)
            for owner, term in self._wary
        )

    def _together(self, pod: Object, node: Object) -> bool:
        terms = wishes(pod, "podAffinity")
        if not terms:
            return True
        if any(term["topologyKey"] not in labels_of(node) for term in terms):
            return False
        wanted = [each for each in self.seen(terms[0], pod) if each is not pod]
        for term in terms[1:]:
            wanted = [each for each in wanted if self.about(term, pod, each)]
        if all(
            any(self.domain(each, term["topologyKey"]) == labels_of(node)[term["topologyKey"]] for each in wanted)
            for term in terms
        ):
            return True
        keyed = any(self.domain(each, term["topologyKey"]) is not None for term in terms for each in wanted)
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
        term = {"labelSelector": chosen, "topologyKey": key}
        for each in self.seen(term, pod):
            if (
                each is not pod
                and each["spec"]["nodeName"] in eligible
                and not each["metadata"].get("deletionTimestamp")
            ):
                counts[labels_of(self.node_of(each))[key]] += 1
        least = min(counts.values(), default=0)
        if len(counts) < (constraint.get("minDomains") or 1):
            least = 0
        own = int(selects(chosen, labels_of(pod)))
        return counts.get(labels_of(node)[key], 0) + own - least <= constraint["maxSkew"]

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

    def _claim_reaches(self, pod: Object, claim: Object, node: Object, taken: set[str]) -> bool:
        if "ReadWriteOncePod" in claim["spec"]["accessModes"] and any(
            each is not pod
            and each["metadata"]["namespace"] == pod["metadata"]["namespace"]
            and claim["metadata"]["name"] in claim_names(each)
            for each in self.bound
        ):
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
        for each in self.volumes.values():
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
    return (
        volume["status"].get("phase") == "Available"
        and "claimRef" not in volume["spec"]
        and volume["spec"].get("storageClassName") == claim["spec"].get("storageClassName")
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
            open_ = (name for name, node in cluster.nodes.items() if not cluster.refusals(pod, node))
            asked[key] = next(open_, "")
        if asked[key]:
            found.append(f"{pod['metadata']['name']} waits although {asked[key]} would take it")
    return found
