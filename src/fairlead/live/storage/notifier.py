"""Events on volumes: each thing is said once, and again only when its theme has changed or it came up anew."""

from collections.abc import Iterable

from fairlead.kube.events import EventType, Recorder
from fairlead.kube.objects.longhorn import LonghornReplica, LonghornVolume
from fairlead.kube.objects.meta import ObjectMeta, ObjectReference
from fairlead.kube.resources import LONGHORN_REPLICAS, LONGHORN_VOLUMES, Resource

ACTIONS = {"ReplicaUnscheduled": "Scheduling", "ReplicaPlaceable": "Advising", "MoveAdvised": "Advising"}
Topic = tuple[str, str, str]
"""The volume's uid, the reason, and the replica it is about where there may be several."""


class VolumeNotifier:
    """Remembers what each volume was told. The recorder bounds the rate."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._themes: dict[Topic, str] = {}

    def tell(
        self,
        volume: LonghornVolume,
        reason: str,
        theme: str,
        note: str,
        *,
        kind: EventType = "Normal",
        replica: str = "",
    ) -> Topic:
        """Something that holds as long as it is told again in every look; gives the topic, for `settle`."""
        topic = (volume.metadata.uid, reason, replica)
        if self._themes.get(topic) != theme:
            self._themes[topic] = theme
            self._record(volume, reason, ACTIONS[reason], note, kind, None)
        return topic

    def settle(self, reasons: Iterable[str], still: set[Topic]) -> None:
        """Of these reasons only `still` hold: what ended may be told again if it comes back."""
        over = set(reasons)
        self._themes = {topic: theme for topic, theme in self._themes.items() if topic[1] not in over or topic in still}

    def clear(self) -> None:
        """Forget what was told: another instance tells the volumes now."""
        self._themes.clear()

    def happened(self, volume: LonghornVolume, reason: str, note: str, replica: LonghornReplica) -> None:
        """Something that happened once."""
        self._record(volume, reason, "Binding", note, "Normal", _reference(LONGHORN_REPLICAS, replica.metadata))

    def _record(
        self,
        volume: LonghornVolume,
        reason: str,
        action: str,
        note: str,
        kind: EventType,
        related: ObjectReference | None,
    ) -> None:
        if self._recorder is not None:
            about = _reference(LONGHORN_VOLUMES, volume.metadata)
            self._recorder.record(about, reason=reason, action=action, note=note, kind=kind, related=related)


def _reference(resource: Resource[LonghornVolume] | Resource[LonghornReplica], meta: ObjectMeta) -> ObjectReference:
    return resource.refer(meta.name, namespace=meta.namespace, uid=meta.uid)
