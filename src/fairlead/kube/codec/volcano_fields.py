"""Fields of Volcano's objects that are not obeyed, by name, and its annotations that are (docs/decisions/0283)."""

import re
from collections.abc import Mapping
from fractions import Fraction

from fairlead.kube.objects.volcano import PodGroup, VolcanoQueue
from fairlead.model.errors import InputError

SLA = "sla-waiting-time"
"""Annotation of a PodGroup: how long it may wait before room is kept for it."""
COOLDOWN = "volcano.sh/cooldown-time"
"""Annotation or label of a pod: how long it is not evicted after it was scheduled."""
REVOCABLE = "volcano.sh/revocable-zone"
UNITS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
ZERO = Fraction(0)
LONGEST = Fraction(2**63 - 1, 10**9)
"""The longest duration that Go reads, in seconds."""
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")


def duration(text: str, place: str) -> Fraction:
    """Seconds of a duration as Go writes it, such as `1h2m3s`; `InputError` for anything else."""
    parts = _PART.findall(text)
    if not parts or len(text) > 64 or "".join(f"{number}{unit}" for number, unit in parts) != text:
        raise InputError(place, f"{text[:64]!r}; expected a duration such as 1h30m")
    found = sum(
        (Fraction(f"{number}0" if number.endswith(".") else number) * UNITS[unit] for number, unit in parts), ZERO
    )
    if found > LONGEST:
        raise InputError(place, f"{text!r} is beyond 292 years; expected a duration such as 1h30m")
    return found


def may_wait(annotations: Mapping[str, str]) -> int | None:
    """Whole seconds that a PodGroup may wait by its annotation; None without one, or with one that cannot be read."""
    seconds = _seconds(annotations.get(SLA))
    return None if seconds is None else int(seconds)


def cooldown(annotations: Mapping[str, str]) -> float:
    """Seconds for which a pod is not evicted after it was scheduled; 0 for none."""
    return float(_seconds(annotations.get(COOLDOWN)) or 0)


def _seconds(text: str | None) -> Fraction | None:
    if text is None:
        return None
    try:
        return duration(text, "")
    except InputError:
        return None


def unmet(group: PodGroup) -> str:
    """The field of a PodGroup that forbids to start it anywhere Fairlead would choose; empty where none does."""
    topology = group.spec.network_topology
    if topology is not None and topology.mode != "soft":
        return "spec.networkTopology (hard)"
    if any(
        each.network_topology is not None and each.network_topology.mode != "soft"
        for each in group.spec.sub_group_policy
    ):
        return "spec.subGroupPolicy.networkTopology (hard)"
    return ""


def not_obeyed(group: PodGroup) -> tuple[str, ...]:
    """Fields and annotations of a PodGroup that are not obeyed, or cannot be read."""
    meta, spec = group.metadata, group.spec
    found = []
    if spec.network_topology is not None:
        found.append("spec.networkTopology")
    if spec.sub_group_policy:
        found.append("spec.subGroupPolicy")
    if REVOCABLE in {**meta.labels, **meta.annotations}:
        found.append(f"annotation {REVOCABLE}")
    if SLA in meta.annotations and may_wait(meta.annotations) is None:
        found.append(f"annotation {SLA}, which is no duration such as 1h30m")
    return tuple(found)


def queue_not_obeyed(queue: VolcanoQueue) -> tuple[str, ...]:
    """Fields of a Queue that are not obeyed. A queue is always traversed: a job that waits holds up no other."""
    spec = queue.spec
    found = ["spec.dequeueStrategy fifo"] if spec.dequeue_strategy == "fifo" else []
    found += ["spec.affinity"] if spec.affinity else []
    found += ["spec.extendClusters"] if spec.extend_clusters else []
    return tuple(found)
