"""The kustomize folders under `deploy/`, each a rendering of the chart with its own values."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHART = DEPLOY / "chart" / "fairlead"
KUBERNETES = "1.36.0"
"""Any version that the chart accepts: nothing that it renders depends on it."""

OBJECTS = "objects.yaml"
HELMS_OWN = ("app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy")
"""Labels and annotations that mean nothing where Helm is not."""

NOTHING: Object = {
    "evictionSwitch": {"create": False},
    **{name: {"enabled": False} for name in ("webhook", "scheduler", "fleet", "storage", "ui")},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder: what it is for, the values that differ from "nothing at all", and its namespace."""

    name: str
    about: str
    values: Mapping[str, Any]
    namespace: str = "fairlead-system"


EVICTIONS = {"configuration": {"evictions": {"allowed": True}}}
FOLDERS = (
    Folder(
        name="common",
        about="What the components share: their namespace and the switch of their evictions. Deleted last: with the "
        "namespace goes everything in it.",
        values={"namespace": {"create": True}, "evictionSwitch": {"create": True}},
    ),
    Folder(name="webhook", about="On-demand and spot replicas.", values={"webhook": {"enabled": True}}),
    Folder(
        name="webhook-cert-manager",
        about="The webhook with a certificate of cert-manager: no rights to Secrets, nor to its own configurations.",
        values={"webhook": {"enabled": True, "certificate": {"source": "cert-manager"}}},
    ),
    Folder(
        name="webhook-gated",
        about="The webhook in gated mode, with the right to change pods behind the gate.",
        values={"webhook": {"enabled": True}, "configuration": {"webhook": {"mode": "gated"}}},
    ),
    Folder(
        name="webhook-evictions",
        about="The webhook with repair by eviction, and the right to it.",
        values={"webhook": {"enabled": True}, **EVICTIONS},
    ),
    Folder(name="scheduler", about="The second scheduler.", values={"scheduler": {"enabled": True}}),
    Folder(
        name="scheduler-evictions",
        about="The scheduler with preemption and reclaim, and the right to them.",
        values={"scheduler": {"enabled": True}, **EVICTIONS},
    ),
    Folder(name="storage", about="Advice on Longhorn's storage replicas.", values={"storage": {"enabled": True}}),
    Folder(
        name="storage-act",
        about="The same, and Replicas that wait are given a node and a disk.",
        values={"storage": {"enabled": True}, "configuration": {"storage": {"act": True}}},
    ),
    Folder(
        name="fleet",
        about="For Karmada's API server: the account of the fleet scheduler and its rights.",
        values={"fleet": {"rights": True}},
    ),
    Folder(
        name="fleet-host",
        about="For the cluster beside Karmada's own components. The Secret fairlead-fleet-kubeconfig holds a "
        "kubeconfig of Karmada's API server under the key karmada.config.",
        values={"fleet": {"enabled": True}},
        namespace="karmada-system",
    ),
    Folder(name="ui", about="The page; it reads and writes nothing.", values={"ui": {"enabled": True}}),
)
TOGETHER = ("common", "webhook", "scheduler", "storage", "fleet", "fleet-host", "ui")
"""One folder of each kind: `kubectl apply -k deploy` is all of them."""


def rendered(helm: Path, values: Mapping[str, Any], namespace: str = "fairlead-system") -> list[Object]:
    """The objects of the chart with these values, in the order in which Helm installs them."""
    command = [str(helm), "template", "fairlead", str(CHART), "--namespace", namespace, "--values", "-"]
    run = subprocess.run(
        [*command, "--kube-version", KUBERNETES], input=json.dumps(values), capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise ValueError(run.stderr.strip())
    return [each for each in yaml.safe_load_all(run.stdout) if each]


def files(helm: Path) -> Iterator[tuple[Path, str]]:
    """Every rendered file with its text."""
    for folder in FOLDERS:
        objects = [_without_helm(each) for each in rendered(helm, _merged(NOTHING, folder.values), folder.namespace)]
        yield DEPLOY / folder.name / OBJECTS, _dumped(objects)
        yield DEPLOY / folder.name / "kustomization.yaml", _kustomization(folder.about, [OBJECTS])
    yield DEPLOY / "kustomization.yaml", _kustomization("Every component, with its defaults.", TOGETHER)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Object:
    both = {**base, **over}
    for name in base.keys() & over.keys():
        if isinstance(base[name], dict):
            both[name] = _merged(base[name], over[name])
    return both


def _without_helm(found: Object) -> Object:
    meta = found["metadata"]
    for part in ("labels", "annotations"):
        kept = {name: value for name, value in meta.get(part, {}).items() if name not in HELMS_OWN}
        meta.pop(part, None)
        if kept:
            meta[part] = kept
    return found


def _dumped(objects: list[Object]) -> str:
    note = "# Rendered from deploy/chart/fairlead by `make manifests`; change the chart.\n"
    return note + "---\n".join(yaml.safe_dump(each, sort_keys=False, width=120) for each in objects)


def _kustomization(about: str, resources: list[str] | tuple[str, ...]) -> str:
    body = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(resources)}
    return f"# {about}\n# Rendered by `make manifests`.\n" + yaml.safe_dump(body, sort_keys=False)
