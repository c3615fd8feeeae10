"""Shapes remembered: pods of one template are alike, so the shape of each distinct spec is worked out once."""

from collections.abc import Mapping

import msgspec

from fairlead.kube.codec.disks import disk_of
from fairlead.kube.codec.shapes import shape
from fairlead.kube.objects.pod import Pod, PodSpec
from fairlead.model.population import Resident, resident
from fairlead.model.shape import Pairs, Shape

MOST = 8192
"""Shapes remembered; with more distinct ones some are worked out again."""
NODE = len(b'[{"nodeName":,')
"""What stands around the name of a node, the first field of a spec."""
_encode = msgspec.json.Encoder().encode


class Shapes:
    """The shape of a pod, and how others will see it. Equal specs give the same objects."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Pairs, bytes], tuple[Shape, Resident]] = {}

    def of(self, namespace: str, labels: Mapping[str, str], spec: PodSpec) -> tuple[Shape, Resident]:
        """As `shapes.shape` says; where the pod runs, what schedules it and volumes without a disk do not matter.

        May raise `InputError`.
        """
        key = (namespace, tuple(sorted(labels.items())), looks(spec))
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


def looks(spec: PodSpec, more: object = None) -> bytes:
    """What of the spec decides its shape, and whatever else is given, as one text to compare."""
    if spec.volumes or spec.scheduling_gates or spec.scheduler_name:
        disks = tuple(each for each in spec.volumes if disk_of(each) is not None)
        spec = msgspec.structs.replace(spec, node_name="", scheduler_name="", scheduling_gates=(), volumes=disks)
    text = _encode((spec, more))
    return text[NODE + len(_encode(spec.node_name)) :] if spec.node_name else text[2:]
