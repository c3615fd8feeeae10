"""PodGroups of either kind, read as one: what a gang needs before it starts, and what was intended for it."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from fairlead.dataclass import dataclass
from fairlead.kube.codec.queues import DEFAULT, bounds_of
from fairlead.kube.codec.volcano_fields import may_wait, unmet
from fairlead.kube.objects.volcano import NativePodGroup, PodGroup
from fairlead.kube.timestamps import seconds
from fairlead.model.errors import InputError

INTENT = "fairlead.io/intent"
"""Annotation of a PodGroup: where its pods are being bound to."""

EMPTY: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class GangSpec:
    """What a PodGroup asks for; `intent` is the text of its annotation."""

    uid: str
    queue: str = DEFAULT
    min_member: int
    min_tasks: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    min_resources: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    priority_class: str
    priority: int | None = None
    created: float
    intent: str
    unmet: str = ""
    """A field that it asks for and that is not implemented: its pods wait."""
    may_wait: int | None = None


def group_of(found: PodGroup) -> GangSpec:
    """A PodGroup of scheduling.volcano.sh. Amounts that cannot be read are `InputError`."""
    spec, meta = found.spec, found.metadata
    return GangSpec(
        uid=meta.uid,
        queue=spec.queue or DEFAULT,
        min_member=1 if spec.min_member is None else spec.min_member,
        min_tasks=spec.min_task_member,
        min_resources=bounds_of(spec.min_resources, "spec.minResources"),
        priority_class=spec.priority_class_name,
        created=moment(meta.creation_timestamp),
        intent=meta.annotations.get(INTENT, ""),
        unmet=unmet(found),
        may_wait=may_wait(meta.annotations),
    )


def native_group_of(found: NativePodGroup) -> GangSpec:
    """A PodGroup of scheduling.k8s.io."""
    spec, meta = found.spec, found.metadata
    gang = spec.scheduling_policy.gang
    return GangSpec(
        uid=meta.uid,
        min_member=1 if gang is None else gang.min_count,
        priority_class=spec.priority_class_name,
        priority=spec.priority,
        created=moment(meta.creation_timestamp),
        intent=meta.annotations.get(INTENT, ""),
    )


def moment(text: str | None) -> float:
    """Seconds since 1970; 0 for what is no time."""
    try:
        return seconds(text) if text else 0.0
    except InputError:
        return 0.0
