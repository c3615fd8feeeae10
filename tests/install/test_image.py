"""All components run from the image as pods do: not root, read-only, with the mounts and the rights of the chart."""

import base64
import json
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane
from tools.helm import build as helm_build
from tools.image.build import NAME

from fairlead import __version__
from tests.cluster import karmada, volcano
from tests.cluster.conftest import NodeMaker
from tests.cluster.fleets import CAPACITY, Fleet, deployment
from tests.cluster.test_scheduler import create, workload, workloads_bound
from tests.install.containers import Container, Kubelet, details, kubelet, obstacle
from tests.install.helms import NAMESPACE, Helm
from tests.live.otlp import Collector, collector

IMAGE = f"{NAME}:{__version__}"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
COMPONENTS = ("webhook", "scheduler", "fleet", "storage")


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    """A free port for each listener; all containers share the network of this machine."""
    free = {name: socket.socket() for name in (*COMPONENTS, "reviews", "pages", "decisions", "report")}
    for each in free.values():
        each.bind(("127.0.0.1", 0))
    found = {name: each.getsockname()[1] for name, each in free.items()}
    for each in free.values():
        each.close()
    return found


@pytest.fixture(scope="module")
def there() -> Iterator[Collector]:
    """A collector of spans."""
    with collector() as found:
        yield found


@pytest.fixture(scope="module")
def values(ports: dict[str, int], there: Collector) -> dict[str, Any]:
    """All four components; where they listen is the one thing that this machine makes different."""
    at = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    own = {
        "webhook": ["--listen", at["reviews"], "--health", at["webhook"]],
        "scheduler": ["--listen", at["scheduler"], "--pages", at["pages"]],
        "fleet": ["--health", at["fleet"], "--pages", at["decisions"]],
        "storage": ["--health", at["storage"], "--pages", at["report"]],
    }
    components = {name: {"enabled": True, "extraArguments": words} for name, words in own.items()}
    return {
        "image": {"repository": NAME, "tag": __version__},
        "configuration": {"webhook": {"names": ["127.0.0.1"]}, "evictions": {"allowed": True}},
        "telemetry": {"endpoint": there.url},
        **components,
        "fleet": {**components["fleet"], "rights": True},
    }


@pytest.fixture(scope="module")
def node(
    control_plane: ControlPlane, kubeconfig: Path, values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubelet]:
    """A kubelet on a cluster on which the chart is installed."""
    reason = obstacle(IMAGE) or helm_build.obstacle(3)
    if reason:
        pytest.skip(f"NOT TESTED: the image: {reason}")
    api = control_plane.api
    for file in ("longhorn.yaml", "karmada.yaml", "volcano.yaml"):
        karmada.define(api, file)
    api.create("/api/v1/namespaces", {"metadata": {"name": "longhorn-system"}})
    helm = Helm(program=helm_build.program(3), kubeconfig=kubeconfig, home=tmp_path_factory.mktemp("helm"))
    helm.install(values)
    _kubeconfig_of_the_fleet(control_plane)
    with kubelet(control_plane, tmp_path_factory.mktemp("pods")) as found:
        yield found
    helm.uninstall()
    for name in ("longhorn-system", NAMESPACE):
        api.delete(f"/api/v1/namespaces/{name}")
    spaces = "/api/v1/namespaces"
    api.wait("they are gone", lambda: not {"longhorn-system", NAMESPACE} & {_name(each) for each in api.items(spaces)})


def _name(found: dict[str, Any]) -> str:
    return str(found["metadata"]["name"])


def _kubeconfig_of_the_fleet(plane: ControlPlane) -> None:
    """The Secret that docs/install.md has people make; here Karmada's API server is the cluster's own."""
    text = plane.kubeconfig_for_service_account(NAMESPACE, "fairlead-fleet").read_bytes()
    data = {"karmada.config": base64.b64encode(text).decode()}
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    plane.api.create(path, {"metadata": {"name": "fairlead-fleet-kubeconfig"}, "data": data})


@pytest.fixture(scope="module")
def running(node: Kubelet, ports: dict[str, int]) -> dict[str, Container]:
    """One pod of each component, ready."""
    return {name: node.run(NAMESPACE, f"fairlead-{name}", ports[name]) for name in COMPONENTS}


def test_image_is_small_and_bare() -> None:
    """No shell, no package manager, a user that is not root; the labels of the OCI specification."""
    if obstacle(IMAGE):
        pytest.skip(f"NOT TESTED: the image: {obstacle(IMAGE)}")
    found = details(IMAGE)
    assert found["Size"] < 200_000_000
    assert found["Config"]["User"] == "65532:65532"
    assert found["Config"]["Labels"]["org.opencontainers.image.version"] == __version__
    assert len(found["Config"]["Labels"]["org.opencontainers.image.revision"]) >= 40
    script = 'made=$(podman create "$1"); podman export "$made" | tar t; podman rm "$made" >/dev/null'
    done = subprocess.run(["bash", "-c", script, "-", IMAGE], capture_output=True, text=True, check=True)
    listed = done.stdout.splitlines()
    names = {Path(each).name for each in listed}
    assert not names & {"sh", "bash", "dash", "busybox", "apt", "dpkg", "pip", "gcc", "perl"}
    modules = [each for each in listed if each.startswith("opt/fairlead/fairlead/") and each.endswith(".py")]
    assert {f"{Path(each).stem}.cpython-311.pyc" for each in modules} <= names


def test_scheduler_and_webhook_work_from_the_image(
    api: Api, running: dict[str, Container], ports: dict[str, int], namespace: str, kwok_nodes: NodeMaker
) -> None:
    """Pods are given their tier by the webhook and bound by the scheduler, with the rights of the chart."""
    # There is no network of Services here: the API server is told the address instead.
    for kind in ("mutating", "validating"):
        path = f"{HOOKS}/{kind}webhookconfigurations/fairlead-webhook"
        found = api.get(path)
        for each in found["webhooks"]:
            where = each["clientConfig"].pop("service")["path"]
            each["clientConfig"]["url"] = f"https://127.0.0.1:{ports['reviews']}{where}"
            assert each["clientConfig"]["caBundle"]
        api.replace(path, found)
    kwok_nodes(3, labels=lambda number: {"pool": namespace, CAPACITY: "spot" if number else "on-demand"})
    create(api, namespace, workload(namespace, "plain", 3))
    body = deployment("web", 4, "1")
    body["spec"]["template"]["spec"] |= {"schedulerName": "fairlead", "nodeSelector": {"pool": namespace}}
    Fleet(api, namespace).create(body)
    api.wait("plain is bound", lambda: workloads_bound(api, namespace)["plain"] == 3, seconds=90)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.wait("web is bound", lambda: len(_bound(api, pods, "web")) == 4, seconds=90)
    required = [each for each in _bound(api, pods, "web") if _requires(each)]
    assert len(required) == 1, running["webhook"].words
    ledgers = api.items(f"/apis/fairlead.io/v1alpha1/namespaces/{NAMESPACE}/tierledgers")
    assert [each["count"]["target"] for each in ledgers if each["spec"]["namespace"] == namespace] == [1]
    _undisturbed(running["scheduler"], running["webhook"])


def _bound(api: Api, pods: str, app: str) -> list[dict[str, Any]]:
    return [each for each in api.items(pods, labelSelector=f"app={app}") if each["spec"].get("nodeName")]


def _requires(pod: dict[str, Any]) -> bool:
    """Whether a pod must be on an on-demand node."""
    found = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    return "requiredDuringSchedulingIgnoredDuringExecution" in found


def _undisturbed(*containers: Container) -> None:
    """Nothing was forbidden, and nothing failed."""
    for each in containers:
        said = each.words
        assert "forbidden" not in said.lower(), said
        assert "Traceback" not in said, said


def test_evictions_come_with_their_rights(
    api: Api, running: dict[str, Container], namespace: str, kwok_nodes: NodeMaker
) -> None:
    """One switch of the chart: a gang of higher priority gets the room of two pods, and the budget is charged."""
    kwok_nodes(1, cpu="4", labels={"pool": namespace})
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    api.create(classes, {"metadata": {"name": namespace}, "value": 1000})
    volcano.make_gang(api, namespace, "low", 4, least=1)
    api.wait("low runs", lambda: volcano.bound(api, namespace)["low"] == 4, seconds=90)
    volcano.make_group(api, namespace, "high", 2)
    urgent = [volcano.member("high", f"high-{number}", priorityClassName=namespace) for number in range(2)]
    api.create_many(f"/api/v1/namespaces/{namespace}/pods", urgent)
    api.wait("high runs", lambda: volcano.bound(api, namespace) == {"low": 2, "high": 2}, seconds=90)
    assert api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/fairlead-evictions")["data"]["recent"]
    _undisturbed(running["scheduler"])
    api.delete(f"{classes}/{namespace}")


def test_fleet_works_from_the_image(api: Api, running: dict[str, Container], namespace: str) -> None:
    """A binding is divided over two clusters, through the kubeconfig of the mounted Secret."""
    names = [f"{namespace}-{letter}" for letter in "ab"]
    for name in names:
        api.create(karmada.CLUSTERS, karmada.cluster(name, {"pool": namespace}))
    bindings = karmada.Bindings(api, namespace)
    bindings.create(karmada.binding("web", 6, karmada.static(namespace, dict.fromkeys(names, 1))))
    api.wait("the binding is divided", lambda: sum(bindings.clusters()["web"].values()) == 6, seconds=60)
    assert sorted(bindings.clusters()["web"].values()) == [3, 3]
    _undisturbed(running["fleet"])
    for name in names:
        api.delete(f"{karmada.CLUSTERS}/{name}")


def test_spans_leave_the_image(api: Api, there: Collector) -> None:
    """What the components did above has reached the collector that the chart's values name."""
    wanted = {"pod", "wait", "decide", "bind", "cycle", "group", "/mutate", "binding", "write"}
    api.wait("all spans have come", lambda: wanted <= {each.name for each in there.spans}, seconds=60)
    assert there.services == {"fairlead-scheduler", "fairlead-webhook", "fairlead-fleet"}


def test_storage_works_from_the_image(running: dict[str, Container], ports: dict[str, int]) -> None:
    """It follows Longhorn's kinds and reports, on a listener of its own."""
    status, text = replace(running["storage"], port=ports["report"]).page("/report")
    assert status == 200
    assert '"volumes"' in text
    _undisturbed(running["storage"])


def test_gang_that_0_1_began_is_brought_to_its_end(
    api: Api, node: Kubelet, running: dict[str, Container], ports: dict[str, int], namespace: str, kwok_nodes: NodeMaker
) -> None:
    """An intent in the form of 0.1.0, one pod bound, then this version begins: the rest follows to the recorded nodes,
    and what runs stays."""
    assert running["scheduler"].stop()[0] == 0
    nodes = kwok_nodes(3, cpu="4", labels={"pool": namespace})
    volcano.make_gang(api, namespace, "old", 3)
    places = {nodes[0]: ["2"], nodes[1]: ["1"], nodes[2]: ["0"]}
    intent = json.dumps({"at": 1763424000.0, "prefix": "old-", "nodes": places})
    api.patch(f"{volcano.groups_path(namespace)}/old", {"metadata": {"annotations": {volcano.INTENT: intent}}})
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.create(f"{pods}/old-2/binding", {"metadata": {"name": "old-2"}, "target": {"kind": "Node", "name": nodes[0]}})
    before = {each["metadata"]["name"]: each["metadata"]["uid"] for each in api.items(pods)}
    running["scheduler"] = node.run(NAMESPACE, "fairlead-scheduler", ports["scheduler"])
    api.wait("all are bound", lambda: all(each["spec"].get("nodeName") for each in api.items(pods)), seconds=90)
    found = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in api.items(pods)}
    assert found == {"old-0": nodes[2], "old-1": nodes[1], "old-2": nodes[0]}
    assert {each["metadata"]["name"]: each["metadata"]["uid"] for each in api.items(pods)} == before
    _undisturbed(running["scheduler"])


def test_each_ends_within_its_grace_period(running: dict[str, Container]) -> None:
    """SIGTERM is enough: exit code 0, and never a SIGKILL. Run last: it ends them."""
    for name, container in running.items():
        code, took = container.stop()
        assert code == 0, f"{name}: {code}\n{container.words}"
        assert took < container.grace
