"""The files under `deploy/` as objects, for tests that look at them or apply them."""

from pathlib import Path
from typing import Any

import yaml
from tools.controlplane.api import Api

DEPLOY = Path(__file__).parents[1] / "deploy"


def listed(folder: str) -> list[str]:
    """The files and folders that the folder's kustomization names."""
    return list(yaml.safe_load((DEPLOY / folder / "kustomization.yaml").read_text())["resources"])


def deployed(*folders: str) -> list[dict[str, Any]]:
    """Every object of these folders, in the order of their lists; other folders that they build on are left out."""
    files = [DEPLOY / folder / name for folder in folders for name in listed(folder) if name.endswith(".yaml")]
    return [each for file in files for each in yaml.safe_load_all(file.read_text()) if each]


def added(folder: str, base: str) -> list[dict[str, Any]]:
    """The objects of a folder that another has not: what a feature brings along."""
    known = {place(each) for each in deployed(base)}
    return [each for each in deployed(folder) if place(each) not in known]


def place(manifest: dict[str, Any]) -> str:
    """The path of an object at the API server."""
    group, kind, meta = manifest["apiVersion"], manifest["kind"].lower(), manifest["metadata"]
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    scope = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{root}{scope}/{plural}/{meta['name']}"


def apply(api: Api, manifest: dict[str, Any], **query: str) -> None:
    """Server-side apply."""
    api.patch(place(manifest), manifest, kind="apply", fieldManager="test", force="true", **query)
