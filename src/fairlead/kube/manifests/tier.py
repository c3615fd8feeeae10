"""The objects that exist, from a file: controllers by name, pods, and the labels of the nodes."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.kube.decode import drop_nulls
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.tier import TieredController
from fairlead.model.errors import InputError
from fairlead.text.documents import documents
from fairlead.text.mistakes import converted

KINDS: dict[str, type[TieredController | Pod | Node]] = {
    "Deployment": TieredController,
    "ReplicaSet": TieredController,
    "StatefulSet": TieredController,
    "Pod": Pod,
    "Node": Node,
}
_PLURALS = {f"{kind.lower()}s": kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Existing:
    """What exists besides the pod in question.

    An object without a namespace is taken to be in any; asked for without a namespace, the only one of that name is it.
    """

    controllers: dict[tuple[str, str, str], TieredController] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    @property
    def node_labels(self) -> set[str] | None:
        """The labels that nodes carry, None where there are no nodes."""
        return {key for node in self.nodes for key in node.metadata.labels} if self.nodes else None

    def find(self, kind: str, namespace: str, name: str) -> TieredController | None:
        """The controller of that kind and name, None where there is none."""
        found = self.controllers.get((kind, namespace, name)) or self.controllers.get((kind, "", name))
        if found is not None or namespace:
            return found
        anywhere = [each for (own, _, called), each in self.controllers.items() if (own, called) == (kind, name)]
        return anywhere[0] if len(anywhere) == 1 else None


def read_existing(raw: bytes, source: str) -> Existing:
    """The controllers and pods of a text; other kinds are passed over, a mistake is `InputError`.

    Taken are manifests in as many documents as you like, a List of them, a plain array, and an object with one array
    a kind (`{"deployments": […], "pods": […]}`), whose members need not repeat their kind. An empty text is nothing.
    """
    existing = Existing()
    for document in documents(raw, source) if raw.strip() else ():
        if isinstance(document, InputError):
            raise document
        for place, kind, value in _objects(document.place, document.value, ""):
            _add(existing, place, kind, value)
    return existing


def _objects(place: str, value: Any, kind: str) -> Iterator[tuple[str, str, Any]]:
    """Every object in the value with its place and kind; `kind` is what the enclosing array says."""
    if isinstance(value, list):
        for row, item in enumerate(value):
            yield from _objects(f"{place}[{row}]", item, kind)
    elif not isinstance(value, dict):
        raise InputError(place, "is not an object; expected a Kubernetes manifest")
    elif isinstance(value.get("items"), list):
        kind = str(value.get("kind") or "List").removesuffix("List")
        yield from _objects(f"{place} items", value["items"], kind)
    elif isinstance(value.get("kind"), str) or kind:
        yield place, value.get("kind") or kind, value
    elif all(name.lower() in _PLURALS for name in value):
        for name, items in value.items():
            yield from _objects(f"{place} {name}", items or [], _PLURALS[name.lower()])
    else:
        raise InputError(place, "has no kind; expected Deployments, ReplicaSets, StatefulSets, Pods and Nodes")


def _add(existing: Existing, place: str, kind: str, value: Any) -> None:
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    if kind not in KINDS or group not in ("", "apps"):
        return
    typed = converted(drop_nulls(value), KINDS[kind], place)
    if isinstance(typed, Pod):
        existing.pods.append(typed)
    elif isinstance(typed, Node):
        existing.nodes.append(typed)
    else:
        existing.controllers[kind, typed.metadata.namespace, typed.metadata.name] = typed
