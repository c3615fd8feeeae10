"""Every command of the pages on installation and backup is run, in the order of the page, on real API servers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane
from tools.helm import build as helm_build
from tools.kubectl import build as kubectl_build

from tests.cluster import volcano
from tests.cluster.karmada import CLUSTERS, Bindings, binding, cluster, define, fleet, static
from tests.cluster.test_scheduler import scheduler
from tests.deploys import apply, deployed, place
from tests.install.helms import NAMESPACE, Helm
from tests.install.pages import Page
from tests.install.test_chart import HERE, KARMADA, LONGHORN, clean, ours, spaces

__all__ = ["clean", "spaces"]

REGISTRY = {"REGISTRY/": "registry.example/"}
LEDGERS = f"/apis/fairlead.io/v1alpha1/namespaces/{NAMESPACE}/tierledgers"
SWITCH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/fairlead-evictions"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


@pytest.fixture(scope="session")
def helm_program(request: pytest.FixtureRequest) -> Path:
    """Helm 3, or the major version that a test asks for."""
    major = getattr(request, "param", 3)
    reason = helm_build.obstacle(major)
    if reason:
        pytest.skip(reason)
    return helm_build.program(major)


@pytest.fixture(scope="module")
def kubectl() -> Path:
    """kubectl, of this machine or built."""
    reason = kubectl_build.obstacle()
    if reason:
        pytest.skip(f"NOT TESTED: the commands of the pages: {reason}")
    return kubectl_build.program()


@pytest.fixture
def karmada_plane() -> Iterator[ControlPlane]:
    """Another API server, with Karmada's kinds; a new one for each test, for the page makes a namespace there."""
    with ControlPlane(Options(scheduler=False, kwok=False)) as plane:
        define(plane.api, "karmada.yaml")
        yield plane


Opened = Callable[[str], Page]


@pytest.fixture
def opened(helm: Helm, kubectl: Path, kubeconfig: Path, karmada_plane: ControlPlane, tmp_path: Path) -> Opened:
    """Opens a page, with Helm, kubectl, and Karmada's kubeconfig at hand."""

    def open_page(name: str) -> Page:
        page = Page(name, tmp_path / "reader", kubeconfig, helm=helm.program, kubectl=kubectl)
        config = page.shell(f"kubectl --kubeconfig {karmada_plane.kubeconfig} config view --raw --flatten")
        (page.folder / "karmada.config").write_text(config)
        return page

    return open_page


def arguments(api: Api, name: str) -> dict[str, Any]:
    """The container of a Deployment."""
    found: dict[str, Any] = api.get(f"{DEPLOYMENTS}/{name}")["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize("helm_program", [3, 4], indirect=True)
def test_install_page(opened: Opened, helm: Helm, api: Api, clean: None, karmada_plane: ControlPlane) -> None:
    """From nothing over settings, fleet, upgrade and rollback to nothing again."""
    page = opened("install.md")
    page.left.pop(("1. The image", 0))  # run by tests/install/test_image.py
    page.left.pop(("1. The image", 1))
    before = ours(api)
    listed = page.run("2. The chart", replaced=REGISTRY)
    assert "fairlead-webhook" in listed
    assert "fairlead-scheduler" in listed
    assert arguments(api, "fairlead-scheduler")["image"] == "registry.example/fairlead:0.2.0"
    labels = api.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"

    page.run("3. Settings", 0)
    assert "ClusterRole/fairlead-scheduler-evictions" in ours(api)
    page.run("3. Settings", 1)
    assert api.get(SWITCH)["data"]["stop"] == "true"

    _fleet(page, api, karmada_plane)

    page.run("5. Upgrade, roll back", 0)
    assert api.get(SWITCH)["data"]["stop"] == "true"
    assert arguments(api, "fairlead-scheduler")["image"] == "registry.example/fairlead:0.2.0"
    helm.uninstall()
    page.shell(f"kubectl delete namespace {NAMESPACE}")
    for each in yaml.safe_load_all((HERE / "recorded" / "manifests-0.1.0.yaml").read_text()):
        apply(api, each)
    conflicts = {"--take-ownership": "--take-ownership --force-conflicts"} if "helm4" in str(helm.program) else {}
    page.run("5. Upgrade, roll back", 1, replaced={**REGISTRY, **conflicts})
    assert arguments(api, "fairlead-scheduler")["image"] == "registry.example/fairlead:0.2.0"

    page.run("6. Remove")
    assert ours(api) == before

    page.run("Without Helm", 0)
    for each in deployed("common", "webhook", "scheduler-evictions"):
        api.get(place(each))
    page.run("Without Helm", 1)
    assert ours(api) == before
    assert not page.left


def _fleet(page: Page, api: Api, plane: ControlPlane) -> None:
    """The account is made at Karmada's API server; the kubeconfig of the Secret is let in there with its rights."""
    page.run("4. The fleet", 0)
    page.run("4. The fleet", 1)
    assert api.get(f"{DEPLOYMENTS}/fairlead-fleet")["spec"]["replicas"] == 2
    assert api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/fairlead-fleet-kubeconfig")["data"]["karmada.config"]
    there = f"kubectl --kubeconfig fleet.config --server {plane.server}"
    assert "system:serviceaccount:fairlead-system:fairlead-fleet" in page.shell(f"{there} auth whoami")
    assert page.shell(f"{there} auth can-i patch resourcebindings.work.karmada.io -A") == "yes\n"
    assert page.shell(f"{there} auth can-i delete namespaces || true") == "no\n"


def test_all_folders_apply_together(opened: Opened, api: Api, clean: None) -> None:
    """`deploy` is every component at once; each folder builds by itself."""
    page = opened("install.md")
    for folder in sorted(each.parent for each in (page.folder / "deploy").glob("*/kustomization.yaml")):
        assert "kind: " in page.shell(f"kubectl kustomize {folder}")
    before = ours(api)
    page.shell("kubectl apply -k deploy")
    names = {each["metadata"]["name"] for each in api.items("/apis/apps/v1/deployments")}
    assert {f"fairlead-{name}" for name in ("webhook", "scheduler", "fleet", "storage")} <= names
    page.shell("kubectl delete -k deploy --ignore-not-found")  # the namespace takes some of it along
    assert {each for each in ours(api) if "Namespace" not in each} <= before
    assert {KARMADA, LONGHORN} <= {each["metadata"]["name"] for each in api.items("/api/v1/namespaces")}


def test_backup_page(
    opened: Opened,
    helm: Helm,
    api: Api,
    clean: None,
    kubeconfig: Path,
    karmada_plane: ControlPlane,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
) -> None:
    """State is saved, lost and restored; then the components go on as if nothing had happened."""
    page, bindings = opened("backup.md"), Bindings(karmada_plane.api, "default")
    volcano.install(api)
    helm.install({"configuration": {"evictions": {"allowed": True, "perMinute": 3}}})
    api.wait("ledgers are served", lambda: api.items(LEDGERS) is not None)
    ledger = {
        "apiVersion": "fairlead.io/v1alpha1",
        "kind": "TierLedger",
        "metadata": {"name": "0f0f", "namespace": NAMESPACE},
        "spec": {"namespace": "shop", "replicaSet": "web-1", "deployment": "web"},
        "slots": {"granted": ["a", "b"], "seen": ["a"]},
        "count": {"target": 2, "held": 1, "reserved": 1},
    }
    api.create(LEDGERS, ledger)
    api.patch(SWITCH, {"data": {"stop": "true"}})
    gang = _half_started(api, namespace, kwok_nodes(3, cpu="4", labels={"pool": namespace}))
    for name in ("m1", "m2", "m3"):
        karmada_plane.api.create(CLUSTERS, cluster(name, {"pool": namespace}))
    bindings.create(binding("web", 7, static(namespace, {"m1": 1, "m2": 1, "m3": 1})))
    with fleet(karmada_plane.kubeconfig):
        bindings.settled()
    divided, record = bindings.clusters(), bindings.get("web")["metadata"]["annotations"]

    page.run("Save", 0)
    page.run("Save", 1)
    helm.uninstall()
    page.shell("kubectl delete crd tierledgers.fairlead.io")
    page.shell(f"kubectl delete namespace {NAMESPACE}")
    api.delete(f"{volcano.groups_path(namespace)}/old")
    karmada_plane.api.delete("/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/web")

    page.run("Restore", 1)
    conflicts = {"--take-ownership": "--take-ownership --force-conflicts"} if "helm4" in str(helm.program) else {}
    page.run("Restore", 0, replaced=conflicts)
    assert not page.left
    kept = api.get(f"{LEDGERS}/0f0f")
    assert (kept["slots"], kept["count"]) == (ledger["slots"], ledger["count"])
    assert api.get(SWITCH)["data"]["stop"] == "true"
    assert (
        "perMinute: 3"
        in api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/fairlead-scheduler")["data"]["fairlead.yaml"]
    )
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with scheduler(kubeconfig, "--no-leader-election"), fleet(karmada_plane.kubeconfig):
        api.wait("the gang is whole", lambda: all(each["spec"].get("nodeName") for each in api.items(pods)), seconds=90)
        bindings.settled()
    assert {each["metadata"]["name"]: each["spec"]["nodeName"] for each in api.items(pods)} == gang
    assert bindings.clusters() == divided
    result = "fairlead.io/last-schedule-result"
    assert bindings.get("web")["metadata"]["annotations"].get(result) == record.get(result)


def _half_started(api: Api, namespace: str, nodes: list[str]) -> dict[str, str]:
    """A gang of three with its intent and one pod bound; where each of its pods is to go."""
    volcano.make_gang(api, namespace, "old", 3)
    places = {nodes[0]: ["2"], nodes[1]: ["1"], nodes[2]: ["0"]}
    intent = json.dumps({"at": 1763424000.0, "prefix": "old-", "nodes": places})
    api.patch(f"{volcano.groups_path(namespace)}/old", {"metadata": {"annotations": {volcano.INTENT: intent}}})
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.create(f"{pods}/old-2/binding", {"metadata": {"name": "old-2"}, "target": {"kind": "Node", "name": nodes[0]}})
    return {"old-0": nodes[2], "old-1": nodes[1], "old-2": nodes[0]}
