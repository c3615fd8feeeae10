"""The chart on a real API server: its renderings are accepted, installed, changed, rolled back, and removed whole."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api, ApiError
from tools.helm import build as helm_build
from tools.manifests.__main__ import behind
from tools.manifests.folders import CHART, FOLDERS, NOTHING, files, rendered

from fairlead.settings import read_configuration
from tests.cluster.karmada import DEFINITIONS
from tests.deploys import apply, deployed, place
from tests.install.helms import NAMESPACE, Helm, HelmError

HERE = Path(__file__).parent
LONGHORN, KARMADA = "longhorn-system", "karmada-system"
MADE_BY_OTHERS = ("Event", "Pod", "ReplicaSet", "APIService")
"""Kinds whose objects come and go with ours: those of controllers, and the server's own of a definition."""
OPTIONAL_ROLES = ("fairlead-webhook-gated", "fairlead-webhook-repair", "fairlead-scheduler-evictions")
"""Roles of 0.1 that people bound by hand; docs/install.md has them removed. They come with a setting now."""
DEFAULTS: dict[str, Any] = {}
EVERYTHING = {
    "fleet": {"enabled": True},
    "storage": {"enabled": True},
    "ui": {"enabled": True},
    "configuration": {"evictions": {"allowed": True}, "storage": {"act": True}, "webhook": {"mode": "gated"}},
}
SETS: dict[str, dict[str, Any]] = {
    "defaults": DEFAULTS,
    "everything": EVERYTHING,
    "shadow": {name: {"enabled": True, "shadow": True} for name in ("webhook", "scheduler", "storage")}
    | {"fleet": {"rights": True, "shadow": True}, "configuration": {"evictions": {"allowed": True}}},
    "given-certificate": {
        **NOTHING,
        "webhook": {"enabled": True, "certificate": {"source": "given", "secretName": "mine", "caBundle": "TUlORQ=="}},
    },
    "by-digest-and-placed": {
        **NOTHING,
        "image": {
            "repository": "mine/fairlead",
            "digest": f"sha256:{'0' * 64}",
            "pullSecrets": [{"name": "key"}],
        },
        "scheduler": {
            "enabled": True,
            "name": "batch",
            "replicas": 1,
            "selfCheckSeconds": 300,
            "nodeSelector": {"pool": "system"},
            "tolerations": [{"key": "system", "operator": "Exists"}],
            "priorityClassName": "",
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
            ],
            "networkPolicy": {"enabled": True},
            "flowControl": {"enabled": False},
            "podAnnotations": {"example.org/note": "x"},
        },
        "labels": {"team": "platform"},
        "telemetry": {
            "endpoint": "http://collector.monitoring:4318",
            "ratio": 0.1,
            "variables": [{"name": "OTEL_EXPORTER_OTLP_TIMEOUT", "value": "5"}],
        },
    },
}
"""Sets of values beside those of the kustomize folders, which are renderings of the chart too."""


@pytest.fixture(scope="module")
def spaces(api: Api) -> Iterator[None]:
    """The namespaces that others make, and stand-ins for cert-manager's kinds."""
    for name in (LONGHORN, KARMADA):
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    for kind in ("Issuer", "Certificate"):
        api.create(DEFINITIONS, _stand_in(kind))
        path = f"/apis/cert-manager.io/v1/{kind.lower()}s"
        api.wait(f"{kind} is served", lambda path=path: api.items(path) is not None)
    yield
    made = [f"/api/v1/namespaces/{name}" for name in (LONGHORN, KARMADA)]
    made += [f"{DEFINITIONS}/{kind.lower()}s.cert-manager.io" for kind in ("Issuer", "Certificate")]
    for path in made:
        api.delete(path)
    # Another module may ask for them again at once.
    api.wait("they are gone", lambda: all(_gone(api, path) for path in made))


def _stand_in(kind: str) -> dict[str, Any]:
    """A definition that takes any content."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": "cert-manager.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{kind.lower()}s.cert-manager.io"}, "spec": spec}


@pytest.fixture
def clean(helm: Helm, api: Api, spaces: None) -> Iterator[None]:
    """Nothing of ours is on the server, before and after."""
    _clear(helm, api)
    yield
    _clear(helm, api)


def _clear(helm: Helm, api: Api) -> None:
    helm.uninstall()
    for path in (f"{DEFINITIONS}/tierledgers.fairlead.io", f"/api/v1/namespaces/{NAMESPACE}"):
        try:
            api.delete(path)
        except ApiError:
            continue
        api.wait(f"{path} is gone", lambda path=path: _gone(api, path))


def _gone(api: Api, path: str) -> bool:
    try:
        api.get(path)
    except ApiError as error:
        return error.status == 404
    return False


def _listed(api: Api, path: str) -> list[dict[str, Any]]:
    """All objects of a kind; a definition that came a moment ago is answered with 429 until its storage is there."""
    found: list[list[dict[str, Any]]] = []

    def read() -> bool:
        try:
            found.append(api.items(path))
        except ApiError as error:
            if error.status != 429:
                raise
        return bool(found)

    api.wait(f"{path} can be listed", read)
    return found[0]


def ours(api: Api) -> set[str]:
    """Every object on the server whose name begins with ours, as kind and name; what Kubernetes adds is left out."""
    found = set()
    groups = [each["preferredVersion"]["groupVersion"] for each in api.get("/apis")["groups"]]
    for group in ["/api/v1", *(f"/apis/{each}" for each in groups)]:
        for kind in api.get(group)["resources"]:
            if "list" in kind["verbs"] and kind["kind"] not in MADE_BY_OTHERS:
                names = (each["metadata"]["name"] for each in _listed(api, f"{group}/{kind['name']}"))
                found |= {f"{kind['kind']}/{name}" for name in names if "fairlead" in name}
    return found


def test_chart_is_without_fault(helm_program: Path, tmp_path: Path, kubeconfig: Path) -> None:
    """`helm lint` has nothing to say but that there is no icon."""
    said = Helm(program=helm_program, kubeconfig=kubeconfig, home=tmp_path).run("lint", "--strict", str(CHART))
    assert "0 chart(s) failed" in said


def test_manifests_are_current() -> None:
    """The kustomize folders are what the chart renders today."""
    assert not [str(path) for path, _ in behind(files(helm_build.program(3)))], "run: make manifests"


@pytest.mark.parametrize("name", ["shadow", "given-certificate", "by-digest-and-placed"])
def test_renderings_are_as_recorded(name: str) -> None:
    """A change of the chart shows in these golden files, as it does in the kustomize folders; FAIRLEAD_GOLDEN=write
    brings them up to date."""
    found = yaml.safe_dump_all(rendered(helm_build.program(3), SETS[name]), sort_keys=False, width=120)
    golden = HERE / "golden" / f"{name}.yaml"
    if os.environ.get("FAIRLEAD_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found)
    assert golden.read_text() == found


@pytest.mark.parametrize("name", [*SETS, *(each.name for each in FOLDERS)])
def test_server_accepts_what_is_rendered(api: Api, spaces: None, name: str) -> None:
    """Every object passes the server's own strict validation, and every configuration is one that the program reads."""
    objects = rendered(helm_build.program(3), SETS[name]) if name in SETS else deployed(name)
    if _gone(api, f"/api/v1/namespaces/{NAMESPACE}"):
        api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for each in objects:
        apply(api, each, dryRun="All", fieldValidation="Strict")
        for text in each.get("data", {}).values() if each["kind"] == "ConfigMap" else ():
            read_configuration(text.encode(), name)


def test_shadow_may_write_nothing(api: Api) -> None:
    """The rights of shadows are to read, but for the webhook's own lease and certificate."""
    for each in rendered(helm_build.program(3), SETS["shadow"]):
        for rule in each.get("rules", ()):
            if each["kind"].endswith("Role") and "webhook" not in each["metadata"]["name"]:
                assert set(rule["verbs"]) <= {"get", "list", "watch"}, each["metadata"]["name"]
    kinds = {(each["kind"], each["metadata"]["name"]) for each in rendered(helm_build.program(3), SETS["shadow"])}
    assert not kinds & {("ClusterRole", "fairlead-webhook-repair"), ("Lease", "fairlead-scheduler")}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"webhook": {"replicas": -1}}, "/webhook/replicas"),
        ({"scheduler": {"colour": "red"}}, "colour"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"configuration": {"tier": {"spotWeight": 1000}}}, "/configuration/tier/spotWeight"),
        ({"configuration": {"webhook": {"namespace": "elsewhere"}}}, "namespace"),
        ({"telemetry": {"endpoint": "collector:4318"}}, "/telemetry/endpoint"),
        ({"telemetry": {"ratio": 2}}, "/telemetry/ratio"),
        ({"telemetry": {"variables": [{"name": "PATH", "value": "/"}]}}, "/telemetry/variables"),
        ({"webhook": {"certificate": {"source": "given"}}}, "webhook.certificate.secretName: the Secret with tls.crt"),
    ],
)
def test_wrong_value_is_refused_with_its_place(values: dict[str, Any], words: str) -> None:
    """By the schema, or by a sentence of the chart where the mistake lies between values."""
    with pytest.raises(ValueError, match=words):
        rendered(helm_build.program(3), values)


def test_life_of_a_release(helm: Helm, api: Api, clean: None) -> None:
    """Installed, changed, rolled back, removed: each leaves exactly what was asked for."""
    before = ours(api)
    helm.install(DEFAULTS)
    api.wait("ledgers are served", lambda: api.items("/apis/fairlead.io/v1alpha1/tierledgers") is not None)
    installed = ours(api) - before
    wanted = {f"{each['kind']}/{each['metadata']['name']}" for each in yaml.safe_load_all(helm.manifest()) if each}
    assert wanted <= installed
    assert not any("evictions" in each for each in installed if "Role" in each)
    # What the components have written themselves survives a change: here the certificate and the holder of the lease.
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets/fairlead-webhook-tls"
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/fairlead-scheduler"
    hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/fairlead-webhook"
    api.patch(secret, {"data": {"tls.crt": "Y3J0", "ca.crt": "Y2E="}})
    api.patch(lease, {"spec": {"holderIdentity": "somebody"}})
    trusted = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}]
    api.patch(hooks, trusted, kind="json")

    helm.install({"configuration": {"evictions": {"allowed": True}}, "ui": {"enabled": True}})
    added = ours(api) - before - installed
    assert {
        "ClusterRole/fairlead-scheduler-evictions",
        "Role/fairlead-webhook-repair",
        "Deployment/fairlead-ui",
    } <= added
    assert api.get(secret)["data"] == {"tls.crt": "Y3J0", "ca.crt": "Y2E="}
    assert api.get(lease)["spec"]["holderIdentity"] == "somebody"

    helm.run("rollback", "fairlead", "1")
    assert ours(api) - before == installed | {each for each in ours(api) if each.startswith("Secret/sh.helm")}
    assert api.get(secret)["data"]["tls.crt"] == "Y3J0"

    helm.uninstall()
    left = {"CustomResourceDefinition/tierledgers.fairlead.io", f"Namespace/{NAMESPACE}"}
    assert ours(api) - before == left


def test_installation_of_0_1_is_taken_over(helm: Helm, api: Api, clean: None) -> None:
    """Objects of 0.1.0 become those of the release; ledgers, budget and certificate stay as they were."""
    for each in yaml.safe_load_all((HERE / "recorded" / "manifests-0.1.0.yaml").read_text()):
        apply(api, each)
    api.wait("ledgers are served", lambda: api.items("/apis/fairlead.io/v1alpha1/tierledgers") is not None)
    ledger = {
        "apiVersion": "fairlead.io/v1alpha1",
        "kind": "TierLedger",
        "metadata": {"name": "0f0f", "namespace": NAMESPACE},
        "spec": {"namespace": "shop", "replicaSet": "web-1", "deployment": "web"},
        "slots": {"granted": ["a", "b"], "seen": ["a"]},
        "count": {"target": 2, "held": 1, "reserved": 1},
    }
    api.create(f"/apis/fairlead.io/v1alpha1/namespaces/{NAMESPACE}/tierledgers", ledger)
    secret = {"metadata": {"name": "fairlead-webhook-tls"}, "type": "kubernetes.io/tls"}
    api.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret | {"data": {"tls.crt": "Y3J0", "tls.key": "a2V5"}})
    switch = f"/api/v1/namespaces/{NAMESPACE}/configmaps/fairlead-evictions"
    api.patch(switch, {"data": {"recent": "2026-11-18T00:00:00.000000Z 1 token"}})
    before = api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/fairlead-scheduler")["metadata"]["uid"]
    for each in yaml.safe_load_all((HERE / "recorded" / "manifests-0.1.0.yaml").read_text()):
        if each["metadata"]["name"] in OPTIONAL_ROLES:
            api.delete(place(each))
    # Server-side apply of one manager over another's fields is a conflict unless it is asked for.
    helm.install(DEFAULTS, "--take-ownership", *(["--force-conflicts"] if "helm4" in str(helm.program) else []))
    kept = api.get(place(ledger))
    assert (kept["slots"], kept["count"]) == (ledger["slots"], ledger["count"])
    assert api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/fairlead-webhook-tls")["data"]["tls.key"] == "a2V5"
    assert "token" in api.get(switch)["data"]["recent"]
    deployment = api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/fairlead-scheduler")
    assert deployment["metadata"]["uid"] == before
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "fairlead:0.2.0"
    helm.uninstall()
    assert api.get(place(ledger))["slots"] == ledger["slots"]
    assert ours(api) == {"CustomResourceDefinition/tierledgers.fairlead.io", f"Namespace/{NAMESPACE}"}


def test_helm_says_what_is_wrong_with_a_value(helm: Helm, clean: None) -> None:
    """And installs nothing."""
    with pytest.raises(HelmError, match="replicas"):
        helm.install({"scheduler": {"replicas": "many"}})
