"""Objects of foreign kinds among manifests, replaced by what their adapters make of them (docs/decisions/0267)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from fairlead.kube.adapters.adapted import Adapted
from fairlead.kube.adapters.registry import ADAPTERS, adapter
from fairlead.kube.manifests.manifest import Manifest
from fairlead.model.errors import InputError

MADE = ("Pod", "Job", "StatefulSet", "ReplicaSet")
"""Kinds by which one sees that a controller has done its work."""

Identity = tuple[str, str, str, str]


def adapted(manifests: Sequence[Manifest], not_counted: Counter[str], errors: list[InputError]) -> Sequence[Manifest]:
    """The manifests with foreign objects replaced; what does not count of them is counted by kind.

    An object whose controller has made pods already counts as what was made. What is there by name comes before what
    an adapter makes, and what is made before what is only assumed.
    """
    if not any(_is_foreign(version, kind) for version, kind in {(each.api_version, each.kind) for each in manifests}):
        return manifests
    foreign = [each for each in manifests if (each.group, each.kind) in ADAPTERS]
    owned = set(_owners(manifests))
    found = [(each, _made(each, errors)) for each in foreign if _identity(each) not in owned]
    for each, made in found:
        not_counted.update(f"{each.kind}.{each.group}: {what}".replace(".:", ":") for what in made.not_counted)
    own = [each for each in manifests if (each.group, each.kind) not in ADAPTERS]
    objects = [Manifest(each.place, dict(value)) for each, made in found for value in made.objects]
    assumed = [Manifest(each.place, dict(value)) for each, made in found for value in made.assumed]
    seen = {_identity(each) for each in own}
    return [*own, *_new((*objects, *assumed), seen)]


def _is_foreign(api_version: str, kind: str) -> bool:
    return (api_version.rpartition("/")[0], kind) in ADAPTERS


def _made(manifest: Manifest, errors: list[InputError]) -> Adapted:
    place = f"{manifest.place}: {manifest.kind} {manifest.name}"
    versions = ADAPTERS[manifest.group, manifest.kind][1]
    adapt = adapter(manifest.group, manifest.kind)
    try:
        if manifest.version not in versions or adapt is None:
            group = f"{manifest.group}/" if manifest.group else ""
            wanted = " or ".join(f"{group}{each}" for each in versions)
            message = f"the API version {manifest.value['apiVersion']} is not known; expected {wanted}"
            raise InputError("", message)
        return adapt(manifest.value)
    except InputError as error:
        errors.append(InputError(": ".join(filter(None, (place, error.path))), error.message))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        errors.append(InputError(place, f"cannot be read: {error}"))
    return Adapted()


def _new(manifests: Iterable[Manifest], seen: set[Identity]) -> Iterable[Manifest]:
    for each in manifests:
        if _identity(each) not in seen:
            seen.add(_identity(each))
            yield each


def _identity(manifest: Manifest) -> Identity:
    return manifest.group, manifest.kind, manifest.namespace, manifest.name


def _owners(manifests: Sequence[Manifest]) -> Iterable[Identity]:
    """The controllers of objects that only a controller makes; what is no reference is told where objects are read."""
    for each in manifests:
        if each.kind in MADE:
            owners = (each.value.get("metadata") or {}).get("ownerReferences")
            for owner in owners if isinstance(owners, list) else ():
                if isinstance(owner, dict):
                    group = str(owner.get("apiVersion", "")).rpartition("/")[0]
                    yield group, str(owner.get("kind", "")), each.namespace, str(owner.get("name", ""))
