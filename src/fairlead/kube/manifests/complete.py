"""Fields that the API server insists on: an object without one, or with an impossible one, is no part of a plan."""

import difflib
from typing import Any

from fairlead.kube.manifests.manifest import Manifest
from fairlead.model.errors import InputError

KEEPERS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
MOST_REPLICAS = 2**31 - 1
NUMBERS = ("replicas", "parallelism", "completions")


def complete(manifest: Manifest) -> None:
    """`InputError` where an object that keeps pods lacks its template, or asks for an impossible number of them."""
    if manifest.group not in ("apps", "batch") or manifest.kind not in KEEPERS or _owned(manifest):
        return
    spec = manifest.value.get("spec")
    place = f"{manifest.place}: {manifest.kind} {manifest.name}: spec"
    if not isinstance(spec, dict) or spec.get("template") is None:
        raise InputError(place, f"has no template{_meant(spec, 'template')}; expected the pods that it keeps")
    for name in NUMBERS:
        number = spec.get(name)
        if isinstance(number, int) and not 0 <= number <= MOST_REPLICAS:
            raise InputError(f"{place}.{name}", f"is {number}; expected a number from 0 to {MOST_REPLICAS}")


def _owned(manifest: Manifest) -> bool:
    """Whether another object keeps it, whose template counts: a ReplicaSet of a Deployment is often cut short."""
    return bool((manifest.value.get("metadata") or {}).get("ownerReferences"))


def _meant(spec: Any, field: str) -> str:
    """The field that was probably meant to be this one."""
    near = difflib.get_close_matches(field, list(spec) if isinstance(spec, dict) else [], n=1)
    return f" (did you mean {field} by {near[0]}?)" if near else ""
