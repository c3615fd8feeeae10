"""A fleet of Karmada objects on a real API server: definitions, clusters, bindings, and a count of the writes."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

CRDS = Path(__file__).parent / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
WORK = "/apis/work.karmada.io/v1alpha2"
FLEET_BINDINGS = f"{WORK}/clusterresourcebindings"
POLICIES = "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies"


def define(api: Api, file: str) -> None:
    """Install the definitions of a file and wait until they are served."""
    for crd in yaml.safe_load_all((CRDS / file).read_text()):
        with suppress(ApiError):
            api.create(DEFINITIONS, crd)
        served = f"/apis/{crd['spec']['group']}/{crd['spec']['versions'][0]['name']}/{crd['spec']['names']['plural']}"
        api.wait(f"{served} served", lambda served=served: api.get(served) is not None)


@contextmanager
def defined_by(api: Api, definitions: Iterable[dict[str, Any]]) -> Iterator[None]:
    """These definitions in the place of those with the same names, which come back afterwards."""
    before = []
    try:
        for crd in definitions:
            path = f"{DEFINITIONS}/{crd['metadata']['name']}"
            before.append(api.get(path))
            _redefine(api, crd)
        yield
    finally:
        for crd in before:
            _redefine(api, crd)


def _redefine(api: Api, crd: dict[str, Any]) -> None:
    path = f"{DEFINITIONS}/{crd['metadata']['name']}"
    stored = api.get(path)
    # Versions that were stored once may not vanish from the list while the server remembers them.
    api.replace(path, {**stored, "spec": crd["spec"]})
    api.wait("the definition is accepted", lambda: _accepted(api.get(path)))


def _accepted(crd: dict[str, Any]) -> bool:
    """Whether the server serves the definition as it is now."""
    conditions = {each["type"]: each["status"] for each in crd["status"].get("conditions", ())}
    named = crd["status"].get("acceptedNames", {}).get("plural") == crd["spec"]["names"]["plural"]
    return named and conditions.get("Established") == "True"


def cluster(name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"syncMode": "Push", **spec},
    }


def static(pool: str, weights: Mapping[str, int]) -> dict[str, Any]:
    """A placement by static weight over the clusters of one test."""
    rules = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in weights.items()]
    return {
        "clusterAffinity": {"labelSelector": {"matchLabels": {"pool": pool}}},
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": rules},
        },
    }


def binding(name: str, replicas: int, placement: dict[str, Any] | None, **spec: Any) -> dict[str, Any]:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "x", "name": name, "uid": f"uid-{name}"}
    placed = {} if placement is None else {"placement": placement}
    body = {"resource": resource, "replicas": replicas, "schedulerName": "fairlead", **placed, **spec}
    return {"metadata": {"name": name, "labels": {"run": "0"}}, "spec": body}


def fleet_binding(name: str, replicas: int, placement: dict[str, Any] | None, **spec: Any) -> dict[str, Any]:
    """The same for an object without a namespace."""
    kind = {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding"}
    return {**kind, **binding(name, replicas, placement, **spec)}


class Bindings:
    """The ResourceBindings of one namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.path = f"{WORK}/namespaces/{namespace}/resourcebindings"

    def create(self, *bodies: dict[str, Any]) -> None:
        kind = {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding"}
        self.api.create_many(self.path, [{**kind, **each} for each in bodies])

    def patch(self, name: str, body: dict[str, Any]) -> None:
        self.api.patch(f"{self.path}/{name}", body)

    def all(self) -> list[dict[str, Any]]:
        return self.api.items(self.path)

    def get(self, name: str) -> dict[str, Any]:
        found = self.api.get(f"{self.path}/{name}")
        assert isinstance(found, dict)
        return found

    def settled(self, *, seconds: float = 120) -> None:
        """Wait until every binding is answered."""
        self.api.wait("all bindings are scheduled", lambda: all(map(observed, self.all())), seconds=seconds)

    def clusters(self) -> dict[str, dict[str, int]]:
        return {each["metadata"]["name"]: counts(each) for each in self.all()}

    def versions(self) -> dict[str, str]:
        return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in self.all()}


def observed(found: dict[str, Any]) -> bool:
    """Whether the binding is placed as its generation asks, or is told why not: a refusal observes nothing."""
    placed = found.get("status", {}).get("schedulerObservedGeneration") == found["metadata"]["generation"]
    return bool(placed or condition(found).get("status") == "False")


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {each["name"]: each.get("replicas", 0) for each in found["spec"].get("clusters", [])}


def condition(found: dict[str, Any]) -> dict[str, Any]:
    """The Scheduled condition, empty where there is none."""
    there = found.get("status", {}).get("conditions", [])
    return next((each for each in there if each["type"] == "Scheduled"), {})


@contextmanager
def fleet(kubeconfig: Path, *options: str, led: bool = False, port: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """The component as a process of its own, stopped with SIGTERM. `led`: it has to win the lease before it acts."""
    alone = () if led else ("--no-leader-election",)
    command = ["fleet", "--kubeconfig", str(kubeconfig), "--health", f"127.0.0.1:{port}", *alone, *options]
    process = subprocess.Popen([sys.executable, "-m", "fairlead", *command])
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


class Writes:
    """Stored writes of all bindings of a namespace from now on: those that change the spec, and all others."""

    def __init__(self, plane: ControlPlane, bindings: Bindings, namespace: str) -> None:
        self._plane = plane
        self._bindings = bindings
        self._prefix = f"work.karmada.io/resourcebindings/{namespace}/"
        self._before = self._now()

    def _now(self) -> tuple[dict[str, int], dict[str, int]]:
        generations = {each["metadata"]["name"]: each["metadata"]["generation"] for each in self._bindings.all()}
        return generations, self._plane.write_counts(self._prefix)

    def since(self) -> tuple[Counter[int], Counter[int]]:
        """How many bindings had how many writes of the spec, and how many others (status, annotations)."""
        (generations, stored), (old_generations, old_stored) = self._now(), self._before
        spec = {name: generation - old_generations[name] for name, generation in generations.items()}
        others = {name: count - old_stored[name] - spec[name] for name, count in stored.items()}
        return Counter(spec.values()), Counter(others.values())
