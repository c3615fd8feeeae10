"""Random workloads with every constraint a pod can carry, and a provisioner that makes volumes where it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from tools.controlplane.api import Api, ApiError

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
DRIVER = "disk.example.com"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_labels(namespace: str, number: int) -> dict[str, str]:
    """Zones of unequal size, disks, a number to compare, and a zone that some nodes do not tell."""
    labels = {"pool": namespace, "disk": "ssd" if number % 3 else "hdd", "generation": str(number % 5)}
    if number % 11:
        labels[ZONE] = "abcd"[min(number % 7, 3)]
    return labels


class Mix:
    """Workloads of one namespace, the same for the same seed."""

    def __init__(self, namespace: str, names: list[str], seed: int, storage: dict[str, str]) -> None:
        self.namespace = namespace
        self.names = names
        self.storage = storage
        self.claims: list[Object] = []
        self._random = Random(seed)

    def workloads(self, pods: int, most: int) -> list[Object]:
        """ReplicaSets of up to `most` replicas each, `pods` in all."""
        made: list[Object] = []
        left = pods
        while left:
            replicas = min(self._random.randint(1, most), left)
            made.append(self._workload(f"w{len(made)}", replicas))
            left -= replicas
        return made

    def _workload(self, name: str, replicas: int) -> Object:
        labels = {"app": name, "tier": self._random.choice("xyz"), "version": self._random.choice("12")}
        spec: Object = {
            "schedulerName": "fairlead",
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"pool": self.namespace},
            "containers": [{"name": "c", "image": "x", "resources": {"requests": self._request()}}],
        }
        constraints = [
            self._init, self._sidecar, self._extended, self._pod_level, self._selector, self._node_affinity,
            self._fields, self._preferred, self._tolerate, self._port, self._apart_hosts, self._apart_zones,
            self._together, self._follow, self._refuse, self._spread_zone, self._spread_host, self._spread_soft,
            self._spread_policies, self._claim, self._one_pod, self._ephemeral, self._missing,
        ]  # fmt: skip
        for constraint in self._random.sample(constraints, self._random.choice((0, 1, 1, 2, 2, 3))):
            constraint(spec, name, labels)
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }

    def _request(self) -> Object:
        return {
            "cpu": self._random.choice(("50m", "100m", "250m", "1", "1500m")),
            "memory": self._random.choice(("32Mi", "128Mi", "1Gi", "900M")),
        }

    def _init(self, spec: Object, name: str, labels: Object) -> None:
        spec.setdefault("initContainers", []).append(
            {"name": "init", "image": "x", "resources": {"requests": {"cpu": "2", "memory": "64Mi"}}}
        )

    def _sidecar(self, spec: Object, name: str, labels: Object) -> None:
        spec.setdefault("initContainers", []).insert(
            0,
            {"name": "side", "image": "x", "restartPolicy": "Always", "resources": {"requests": {"cpu": "200m"}}},
        )

    def _extended(self, spec: Object, name: str, labels: Object) -> None:
        spec["containers"][0]["resources"]["limits"] = {"example.com/device": "1"}

    def _pod_level(self, spec: Object, name: str, labels: Object) -> None:
        spec["resources"] = {"requests": {"cpu": "3", "memory": "2Gi"}}

    def _selector(self, spec: Object, name: str, labels: Object) -> None:
        spec["nodeSelector"]["disk"] = self._random.choice(("ssd", "hdd", "none"))

    def _node_terms(self, spec: Object, *terms: Object) -> None:
        affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        affinity[REQUIRED] = {"nodeSelectorTerms": list(terms)}

    def _node_affinity(self, spec: Object, name: str, labels: Object) -> None:
        expression = self._random.choice(
            (
                {"key": "generation", "operator": "Gt", "values": ["2"]},
                {"key": "generation", "operator": "Lt", "values": ["1"]},
                {"key": ZONE, "operator": "NotIn", "values": ["a", "d"]},
                {"key": ZONE, "operator": "DoesNotExist"},
            )
        )
        hdd = {"key": "disk", "operator": "In", "values": ["hdd"]}
        self._node_terms(spec, {"matchExpressions": [expression]}, {"matchExpressions": [hdd, expression]})

    def _fields(self, spec: Object, name: str, labels: Object) -> None:
        chosen = self._random.choice(self.names)
        self._node_terms(spec, {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [chosen]}]})

    def _preferred(self, spec: Object, name: str, labels: Object) -> None:
        term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        affinity[PREFERRED] = [{"weight": 10, "preference": term}]

    def _tolerate(self, spec: Object, name: str, labels: Object) -> None:
        spec["tolerations"] = [{"key": "kept", "operator": "Exists", "effect": "NoSchedule"}]

    def _port(self, spec: Object, name: str, labels: Object) -> None:
        number = self._random.choice((7001, 7002))
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": number}]

    def _pods(self, spec: Object, kind: str, term: Object) -> None:
        spec.setdefault("affinity", {}).setdefault(kind, {}).setdefault(REQUIRED, []).append(term)

    def _apart_hosts(self, spec: Object, name: str, labels: Object) -> None:
        term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": name}}, "matchLabelKeys": ["version"]}
        self._pods(spec, "podAntiAffinity", term)

    def _apart_zones(self, spec: Object, name: str, labels: Object) -> None:
        self._pods(spec, "podAntiAffinity", {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": name}}})

    def _together(self, spec: Object, name: str, labels: Object) -> None:
        self._pods(spec, "podAffinity", {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": name}}})

    def _follow(self, spec: Object, name: str, labels: Object) -> None:
        other = f"w{self._random.randrange(20)}"
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": other}}, "namespaceSelector": {}}
        self._pods(spec, "podAffinity", term)

    def _refuse(self, spec: Object, name: str, labels: Object) -> None:
        """Refuses the workloads of one tier, those of its own version excepted, in its namespace by label."""
        self._pods(
            spec,
            "podAntiAffinity",
            {
                "topologyKey": HOST,
                "labelSelector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["x"]}]},
                "mismatchLabelKeys": ["version"],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            },
        )

    def _spread(self, spec: Object, **constraint: Any) -> None:
        spec.setdefault("topologySpreadConstraints", []).append(constraint)

    def _spread_zone(self, spec: Object, name: str, labels: Object) -> None:
        self._spread(
            spec,
            topologyKey=ZONE,
            maxSkew=self._random.choice((1, 2)),
            whenUnsatisfiable="DoNotSchedule",
            labelSelector={"matchLabels": {"app": name}},
            minDomains=self._random.choice((1, 3, 5)),
        )

    def _spread_host(self, spec: Object, name: str, labels: Object) -> None:
        self._spread(
            spec,
            topologyKey=HOST,
            maxSkew=1,
            whenUnsatisfiable="DoNotSchedule",
            labelSelector={"matchLabels": {"app": name}},
            matchLabelKeys=["version"],
        )

    def _spread_soft(self, spec: Object, name: str, labels: Object) -> None:
        self._spread(
            spec,
            topologyKey="disk",
            maxSkew=1,
            whenUnsatisfiable="ScheduleAnyway",
            labelSelector={"matchLabels": {"app": name}},
        )

    def _spread_policies(self, spec: Object, name: str, labels: Object) -> None:
        self._spread(
            spec,
            topologyKey="generation",
            maxSkew=1,
            whenUnsatisfiable="DoNotSchedule",
            labelSelector={"matchLabels": {"app": name}},
            nodeAffinityPolicy="Ignore",
            nodeTaintsPolicy="Honor",
        )

    def _claim(self, spec: Object, name: str, labels: Object) -> None:
        kind = self._random.choice(sorted(self.storage))
        self._use(spec, self._new_claim(f"{name}-data", kind, "ReadWriteOnce"))

    def _one_pod(self, spec: Object, name: str, labels: Object) -> None:
        self._use(spec, self._new_claim(f"{name}-alone", "made", "ReadWriteOncePod"))

    def _missing(self, spec: Object, name: str, labels: Object) -> None:
        if self._random.random() < 0.2:
            self._use(spec, f"{name}-never")

    def _ephemeral(self, spec: Object, name: str, labels: Object) -> None:
        template = {"spec": self._claim_spec("made", "ReadWriteOnce")}
        spec.setdefault("volumes", []).append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}})

    def _use(self, spec: Object, claim: str) -> None:
        spec.setdefault("volumes", []).append({"name": claim, "persistentVolumeClaim": {"claimName": claim}})

    def _new_claim(self, name: str, kind: str, mode: str) -> str:
        self.claims.append({"metadata": {"name": name}, "spec": self._claim_spec(kind, mode)})
        return name

    def _claim_spec(self, kind: str, mode: str) -> Object:
        return {
            "accessModes": [mode],
            "storageClassName": self.storage[kind],
            "resources": {"requests": {"storage": "1Gi"}},
        }


def volume(name: str, node: str, kind: str, **more: Any) -> Object:
    """A volume of a driver that one node reaches."""
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": kind,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": DRIVER, "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            **more,
        },
    }


@contextmanager
def provisioner(api: Api, namespace: str, kind: str) -> Iterator[None]:
    """Makes a volume for every claim of the class that has been told its node, until the block ends."""
    stop = threading.Event()

    def work() -> None:
        made: set[str] = set()
        found: list[Object] = []
        # The more claims there are, the dearer is a look at all of them.
        while not stop.wait(0.3 + len(found) / 500):
            try:
                found = api.items(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")
            except (ApiError, OSError):
                continue
            for claim in found:
                meta, spec = claim["metadata"], claim["spec"]
                node = (meta.get("annotations") or {}).get("volume.kubernetes.io/selected-node")
                if not node or spec["storageClassName"] != kind or spec.get("volumeName") or meta["uid"] in made:
                    continue
                reference = {"namespace": namespace, "name": meta["name"], "uid": meta["uid"]}
                more = {"claimRef": reference, "accessModes": spec["accessModes"]}
                try:
                    api.create("/api/v1/persistentvolumes", volume(f"pv-{meta['uid']}", node, kind, **more))
                except (ApiError, OSError):
                    continue
                made.add(meta["uid"])

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
