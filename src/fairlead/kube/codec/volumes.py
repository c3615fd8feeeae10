"""Which claims a pod names, and from which nodes a volume can be reached: by its node affinity and its zone labels."""

from collections.abc import Iterator

from fairlead.kube.codec.shapes import term
from fairlead.kube.objects.pod import Pod, PodSpec
from fairlead.kube.objects.storage import PersistentVolume
from fairlead.levels.node.constraints.claims import ZONE_KEYS
from fairlead.model.claims import Terms
from fairlead.model.selectors import Operator, Requirement, Term

Claims = tuple[tuple[str, bool], ...]
"""Names of volume claims; True where the claim is the pod's own, made for it and to be owned by it."""


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


def claims_named(spec: PodSpec) -> Iterator[str]:
    """The claims that a pod's volumes name."""
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def claims_of(pod: Pod) -> Claims:
    """The claims of the pod: those that its volumes name, and those that are made for it alone."""
    own = ((f"{pod.metadata.name}-{each.name}", True) for each in pod.spec.volumes if each.ephemeral is not None)
    found = {*((name, False) for name in claims_named(pod.spec)), *own}
    return tuple(sorted(found)) if found else ()
