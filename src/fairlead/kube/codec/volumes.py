"""From which nodes a volume can be reached: by its node affinity, and by the zones that its labels name."""

from collections.abc import Iterator

from fairlead.kube.codec.shapes import term
from fairlead.kube.objects.storage import PersistentVolume
from fairlead.levels.node.constraints.claims import ZONE_KEYS
from fairlead.model.claims import Terms
from fairlead.model.selectors import Operator, Requirement, Term


def volume_terms(volume: PersistentVolume) -> Terms:
    """The nodes from which the volume can be reached.

    Volumes are held against labels alone, by kubelet and kube-scheduler alike: `matchFields` are not looked at.
    """
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    terms = tuple(map(term, affinity.required.node_selector_terms))
    if any(each.fields and not each.labels for each in terms):
        return None
    return tuple(Term(each.labels) for each in terms)


def volume_zones(volume: PersistentVolume) -> Iterator[Requirement]:
    """What each of the volume's labels says of its zone; several are written as `a__b`; an empty part spoils all."""
    for key in ZONE_KEYS:
        values = volume.metadata.labels.get(key, "").split("__")
        if all(values):
            yield Requirement(key, Operator.IN, tuple(sorted(values)))
