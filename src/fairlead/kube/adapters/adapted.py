"""What an adapter makes of an object."""

from collections.abc import Iterable, Mapping
from typing import Any

from fairlead.dataclass import dataclass

Value = Mapping[str, Any]
"""An object as plain values."""

GROUP_NAME = "scheduling.k8s.io/group-name"
QUEUE_NAME = "volcano.sh/queue-name"


@dataclass(frozen=True, slots=True)
class Adapted:
    """Objects of kinds that are read, and what of the original does not count, in words."""

    objects: tuple[Value, ...] = ()
    not_counted: tuple[str, ...] = ()
    assumed: tuple[Value, ...] = ()
    """Objects that the original names and that count only where nobody declares them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRole:
    """Replicas of one template within an object. `idle` says why there are none now."""

    name: str
    replicas: int
    template: Value
    least: int | None = None
    idle: str = ""


def spec_of(value: Value) -> Value:
    """The spec of an object, empty where there is none."""
    return value.get("spec") or {}


def number(value: Any, default: int) -> int:
    """A whole number of 0 or more as written, the default where nothing is."""
    return default if value is None else max(int(value), 0)


def roles_of(
    value: Value, roles: Iterable[PodRole], *, least: int | None = None, queue: str = "", priority: str = ""
) -> tuple[Value, ...]:
    """A controller for each role; with `least` they are one gang that starts with so many replicas or not at all."""
    meta = value.get("metadata") or {}
    made: list[Value] = []
    gang = str(meta.get("name", ""))
    asked = list(roles)
    if least is not None:
        spec = {
            "minMember": least,
            "minTaskMember": {each.name: each.least for each in asked if each.least is not None},
            "queue": queue,
            "priorityClassName": priority,
        }
        own = {key: meta[key] for key in ("namespace", "creationTimestamp") if key in meta}
        made.append({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
                     "metadata": {"name": gang, **own}, "spec": spec})  # fmt: skip
    extra = {**({GROUP_NAME: gang} if least is not None else {}), **({QUEUE_NAME: queue} if queue else {})}
    made += [_controller(value, each, extra) for each in asked]
    return tuple(made)


def _controller(value: Value, role: PodRole, extra: Mapping[str, str]) -> Value:
    meta = value.get("metadata") or {}
    inner = role.template.get("metadata") or {}
    task = {"volcano.sh/task-spec": role.name} if GROUP_NAME in extra else {}
    annotations = {**(inner.get("annotations") or {}), **extra, **task}
    name = f"{meta.get('name', '')}-{role.name}" if role.name else str(meta.get("name", ""))
    return {
        "apiVersion": "fairlead.io/adapted",
        "kind": "PodRole",
        "metadata": {**meta, "name": name},
        "spec": {
            "origin": value["kind"],
            "replicas": role.replicas,
            "idle": role.idle,
            "template": {**role.template, "metadata": {**inner, "annotations": annotations}},
        },
    }
