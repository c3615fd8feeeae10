"""LimitRanges and ResourceQuotas as admission applies them: defaults filled in, bounds held, sums counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec

from fairlead.kube.codec.requests import request_of_pod
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.objects.pod import Container, Pod, PodSpec, Resources
from fairlead.kube.objects.policy import LimitRange, LimitRangeItem, ResourceQuota
from fairlead.kube.objects.storage import PersistentVolumeClaimSpec
from fairlead.model.amounts import LARGEST, amount, bounded, quantity
from fairlead.model.errors import InputError
from fairlead.model.quotas import NamespaceQuota

REQUESTS = "requests."
POD_COUNT = "count/pods"
PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")
CONTAINER, POD, CLAIM = BOUNDED = ("Container", "Pod", "PersistentVolumeClaim")
"""What a LimitRange may bound."""
NAMESPACE_WEIGHT = "volcano.sh/namespace.weight"


class LimitRanges:
    """The LimitRanges of each namespace, by what they bound; only those for containers have defaults."""

    def __init__(self, found: Iterable[LimitRange], not_counted: Counter[str]) -> None:
        self._items: dict[tuple[str, str], list[tuple[str, LimitRangeItem]]] = defaultdict(list)
        for each in found:
            for item in each.spec.limits:
                if item.max_limit_request_ratio or item.type not in BOUNDED:
                    what = "maxLimitRequestRatio" if item.type in BOUNDED else f"type {item.type}"
                    not_counted[f"LimitRange with {what}"] += 1
                self._items[item.type, each.metadata.namespace].append((each.metadata.name, item))

    def applied(self, namespace: str, spec: PodSpec) -> PodSpec:
        """The spec as it is stored: containers that ask for nothing get the defaults of their namespace."""
        items = self._items.get((CONTAINER, namespace))
        if not items:
            return spec
        return msgspec.structs.replace(spec, containers=tuple(_filled(each, items) for each in spec.containers))

    def broken(self, namespace: str, spec: PodSpec) -> str:
        """The first bound that a container or the whole pod breaks, as a sentence; empty where none is broken."""
        for name, item in self._items.get((CONTAINER, namespace), ()):
            for container in spec.containers:
                for sentence in _beyond(_asked(container), item, f"container {container.name}"):
                    return f"LimitRange {name}: {sentence}"
        for name, item in self._items.get((POD, namespace), ()):
            for sentence in _beyond(_asked_by_pod(spec), item, "the pod"):
                return f"LimitRange {name}: {sentence}"
        return ""

    def broken_claim(self, namespace: str, name: str, spec: PersistentVolumeClaimSpec) -> str:
        """The first bound that a volume claim breaks, as a sentence; empty where none is broken."""
        asked = {key: amount(key, value, key) for key, value in spec.resources.requests.items()}
        for limit, item in self._items.get((CLAIM, namespace), ()):
            for sentence in _beyond(asked, item, f"claim {name}"):
                return f"LimitRange {limit}: {sentence}"
        return ""


def _filled(container: Container, items: Iterable[tuple[str, LimitRangeItem]]) -> Container:
    requests, limits = dict(container.resources.requests), dict(container.resources.limits)
    for _, item in items:
        limits = {**item.default, **limits}
        # A container with a limit of its own asks for that much, before any default.
        requests = {**item.default_request, **container.resources.limits, **requests}
    resources: Resources = msgspec.structs.replace(container.resources, requests=requests, limits=limits)
    return msgspec.structs.replace(container, resources=resources)


def _asked(container: Container) -> dict[str, int]:
    requests = {**container.resources.limits, **container.resources.requests}
    return {name: amount(name, value, name) for name, value in requests.items()}


def _asked_by_pod(spec: PodSpec) -> dict[str, int]:
    """The containers together; an init container that asks for more counts in their place."""
    total: Counter[str] = Counter()
    for container in spec.containers:
        total.update(_asked(container))
    for container in spec.init_containers:
        total |= Counter(_asked(container))
    return dict(total)


def _beyond(asked: Mapping[str, int], item: LimitRangeItem, who: str) -> Iterator[str]:
    for bounds, word, sign in ((item.max, "above", 1), (item.min, "below", -1)):
        for name, bound in bounds.items():
            if name in asked and sign * (asked[name] - amount(name, bound, name)) > 0:
                yield f"{name} {quantity(name, asked[name])} of {who} is {word} {bound}"


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


def charged(quotas: Iterable[NamespaceQuota], pods: Iterable[Pod]) -> Iterator[NamespaceQuota]:
    """What these pods leave of the quotas, which may be less than nothing."""
    taken: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        taken[pod.metadata.namespace].update(request_of_pod(pod))
    for quota in quotas:
        own = taken[quota.namespace]
        yield replace(quota, hard={name: most - own[name] for name, most in quota.hard.items()})
