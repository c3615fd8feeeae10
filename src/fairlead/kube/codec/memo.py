"""Shapes remembered: pods of one template are alike, so the shape of each distinct spec is worked out once."""

from collections.abc import Mapping

import msgspec

from fairlead.kube.codec.disks import disk_of
from fairlead.kube.codec.requests import request_of_pod, resized
from fairlead.kube.codec.shapes import shape
from fairlead.kube.objects.pod import Pod, PodSpec
from fairlead.model.population import Resident, resident
from fairlead.model.shape import Pairs, Shape

MOST = 8192
"""Shapes remembered; with more distinct ones some are worked out again."""


class Shapes:
    """The shape of a pod, and how others will see it. Equal specs give the same objects."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Pairs, bytes], tuple[Shape, Resident]] = {}

    def of(self, namespace: str, labels: Mapping[str, str], spec: PodSpec) -> tuple[Shape, Resident]:
        """As `shapes.shape` says; where the pod runs, what schedules it and volumes without a disk do not matter.

        May raise `InputError`.
        """
        disks = tuple(each for each in spec.volumes if disk_of(each) is not None)
        bare = msgspec.structs.replace(spec, node_name="", scheduler_name="", scheduling_gates=(), volumes=disks)
        key = (namespace, tuple(sorted(labels.items())), msgspec.json.encode(bare))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST:
                self._known.clear()
            formed = shape(namespace, labels, spec)
            found = self._known[key] = formed, resident(formed)
        return found

    def of_pod(self, pod: Pod) -> tuple[Shape, Resident]:
        """The same for a pod."""
        return self.of(pod.metadata.namespace or "default", pod.metadata.labels, pod.spec)

    def request(self, pod: Pod) -> dict[str, int]:
        """What the pod takes on its node: as its spec says, unless a resize is under way."""
        if resized(pod.status):
            return request_of_pod(pod)
        return dict(self.of_pod(pod)[0].request)


class ShapesOfPods(Shapes):
    """Of pods that all stay in memory: each is looked at once, however often it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[int, tuple[Pod, tuple[Shape, Resident]]] = {}

    def of_pod(self, pod: Pod) -> tuple[Shape, Resident]:
        """As `Shapes.of_pod`; known by the object itself, which is kept."""
        seen = self._seen.get(id(pod))
        if seen is None:
            seen = self._seen[id(pod)] = pod, super().of_pod(pod)
        return seen[1]
