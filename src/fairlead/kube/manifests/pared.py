"""Objects without anything that a plan does not read: what may be shown to others. Names are kept.

An object is decoded into the shape that a plan reads and written back, so that environment variables, commands,
arguments and whatever else a shape does not have cannot be in it (docs/decisions/0291). Of what a shape has as free
text, annotations and parameters, only keys that are known to be harmless stay.
"""

from typing import Any

import msgspec

from fairlead.kube.admission.rules import MINIMUM
from fairlead.kube.manifests.catalogue import decoded
from fairlead.kube.manifests.manifest import Manifest

READ_FROM = ("fairlead.io", "volcano.sh", "karmada.io", "kubernetes.io", "k8s.io", "longhorn.io")
"""Domains whose annotations a plan reads; others may say anything."""
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The whole object as a client once sent it."""
WORDS = ("secret", "credential", "password", "token", "target", "uri", "url")
"""What a key is called whose value may be one, or lead to one."""


def pared(manifest: Manifest) -> dict[str, Any]:
    """The object with only what a plan reads. Raises InputError where it cannot be read."""
    kept: dict[str, Any] = msgspec.to_builtins(decoded(manifest))
    return {"apiVersion": manifest.value["apiVersion"], "kind": manifest.kind, **_without(kept)}


def _without(value: Any) -> Any:
    """Free text that is not known to be harmless is left out, at any depth."""
    if isinstance(value, list | tuple):
        return [_without(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _without(each) for key, each in value.items()}
    if isinstance(found.get("annotations"), dict):
        found["annotations"] = {key: text for key, text in found["annotations"].items() if harmless(key)}
    if isinstance(found.get("parameters"), dict):
        found["parameters"] = {key: text for key, text in found["parameters"].items() if not suspect(key)}
    if suspect(str(found.get("metadata", {}).get("name", "")) if isinstance(found.get("metadata"), dict) else ""):
        found.pop("value", None)  # a setting of Longhorn
    return found


def harmless(key: str) -> bool:
    """Whether a plan reads the annotation: the minimum on demand, or one of a domain that it knows."""
    domain = key.partition("/")[0]
    if key in (APPLIED, MINIMUM):
        return key == MINIMUM
    return any(domain == each or domain.endswith(f".{each}") for each in READ_FROM)


def suspect(name: str) -> bool:
    """Whether what has this name may be secret, or an address with something secret in it."""
    return any(word in name.lower() for word in WORDS)
