"""LimitRanges and ResourceQuotas as admission applies them: defaults filled in, bounds held, sums counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.objects.pod import Container, PodSpec, Resources
from fairlead.kube.objects.policy import LimitRange, LimitRangeItem, ResourceQuota
from fairlead.model.amounts import LARGEST, amount, bounded
from fairlead.model.errors import InputError
from fairlead.model.quotas import NamespaceQuota

REQUESTS = "requests."
POD_COUNT = "count/pods"
PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")
NAMESPACE_WEIGHT = "volcano.sh/namespace.weight"


class LimitRanges:
    """The LimitRanges of each namespace; only those for containers have defaults."""

    def __init__(self, found: Iterable[LimitRange]) -> None:
        self._items: dict[str, list[tuple[str, LimitRangeItem]]] = defaultdict(list)
        for each in found:
            for item in each.spec.limits:
                if item.type == "Container":
                    self._items[each.metadata.namespace].append((each.metadata.name, item))

    def applied(self, namespace: str, spec: PodSpec) -> PodSpec:
        """The spec as it is stored: containers that ask for nothing get the defaults of their namespace."""
        items = self._items.get(namespace)
        if not items:
            return spec
        return msgspec.structs.replace(spec, containers=tuple(_filled(each, items) for each in spec.containers))

    def broken(self, namespace: str, spec: PodSpec) -> str:
        """The first bound that a container of the spec breaks, as a sentence; empty where it breaks none."""
        for name, item in self._items.get(namespace, ()):
            for container in spec.containers:
                for message in _beyond(container, item):
                    return f"LimitRange {name}: {message}"
        return ""


def _filled(container: Container, items: Iterable[tuple[str, LimitRangeItem]]) -> Container:
    requests, limits = dict(container.resources.requests), dict(container.resources.limits)
    for _, item in items:
        limits = {**item.default, **limits}
        # A container with a limit of its own asks for that much, before any default.
        requests = {**item.default_request, **container.resources.limits, **requests}
    resources: Resources = msgspec.structs.replace(container.resources, requests=requests, limits=limits)
    return msgspec.structs.replace(container, resources=resources)


def _beyond(container: Container, item: LimitRangeItem) -> Iterator[str]:
    requests = {**container.resources.limits, **container.resources.requests}
    for bounds, word, sign in ((item.max, "above", 1), (item.min, "below", -1)):
        for name, bound in bounds.items():
            asked = requests.get(name)
            if asked is not None and sign * (_number(name, asked) - _number(name, bound)) > 0:
                yield f"{name} {asked} of container {container.name} is {word} {bound}"


def _number(name: str, text: str | int | float) -> int:
    return amount(name, text, name)


def quotas(found: Iterable[ResourceQuota], not_counted: Counter[str]) -> Iterator[NamespaceQuota]:
    """The quotas without scopes, with the resources that a plan counts; the others are told."""
    for each in found:
        named = {key: value for key, value in each.spec.hard.items() if key != NAMESPACE_WEIGHT}
        counted = _counted(named)
        scoped = bool(each.spec.scopes or each.spec.scope_selector)
        if scoped or len(counted) < len(named):
            what = "scopes" if scoped else "resources that a plan does not count"
            not_counted[f"ResourceQuota with {what}"] += 1
        if counted and not scoped:
            name, namespace = each.metadata.name, each.metadata.namespace
            hard = bounded(counted, LARGEST, f"ResourceQuota {namespace}/{name}: spec.hard")
            yield NamespaceQuota(name=name, namespace=namespace, hard=hard)


def _counted(hard: Mapping[str, str | int | float]) -> dict[str, str | int | float]:
    """The amounts that bound what pods ask for, under the names of the resources."""
    found: dict[str, str | int | float] = {}
    for key, value in hard.items():
        name = "pods" if key == POD_COUNT else key.removeprefix(REQUESTS)
        if key == POD_COUNT or key.startswith(REQUESTS) or key in PLAIN:
            found[name] = value
    return found


def sound_quotas(found: Catalogue, here: Iterable[ResourceQuota]) -> tuple[NamespaceQuota, ...]:
    """The quotas of a cluster; those that cannot be read are named among the errors."""
    result: list[NamespaceQuota] = []
    for each in here:
        try:
            result.extend(quotas((each,), found.not_counted))
        except InputError as error:
            found.errors.append(error)
    return tuple(result)
