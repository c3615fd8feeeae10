"""What a binding was last decided by, recorded with it: its placement, and a mark of what is beyond Karmada's fields.

A binding whose records are still right is not divided again: a label, a cluster that joins or comes back, more or
less room and a restart of this process move nothing (docs/decisions/0218).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from fairlead.kube.codec.placement import Knobs
from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.kube.objects.meta import Raw
from fairlead.levels.fleet.select import passing
from fairlead.model.clusters import ClusterTable
from fairlead.model.division import DivisionAsk, FleetAffinity, Mode, SpreadBy, Sticky

APPLIED = "policy.karmada.io/applied-placement"
"""Karmada's own record of the placement; its taint manager and its descheduler read it."""
ANNOTATION = "fairlead.io/decided"
"""Annotation of a binding: a mark of what was decided, and of what the decision read."""
PLACED, SHORT = "s2", "r2"
"""What a mark begins with: all placed, or short of room."""


def applied_text(placement: Raw) -> str:
    """The placement as it is recorded: every field as it came, those that our shapes do not have included."""
    return msgspec.json.encode(placement).decode()


def is_applied(binding: ResourceBinding) -> bool:
    """Whether the recorded placement is today's. Karmada leaves out what is empty; so does the comparison."""
    try:
        recorded = json.loads(binding.metadata.annotations.get(APPLIED, "null"))
        return recorded is not None and _filled(recorded) == _filled(binding.spec.placement)
    except (ValueError, RecursionError):
        return False


def _filled(value: Any) -> Any:
    """The same without anything empty."""
    if isinstance(value, Mapping):
        return {name: inner for name, each in value.items() if (inner := _filled(each))}
    return [_filled(each) for each in value] if isinstance(value, list) else value


def stands(binding: ResourceBinding, ask: DivisionAsk, knobs: Knobs) -> bool:
    """Whether nothing asks for a new division.

    Divided replicas: the placement and the mark are those of the last decision, and the replicas are all there.
    What goes whole to every cluster is looked at each time, since clusters that come get it too. What was placed in
    part is left until the room it was decided on is another.
    """
    if not is_applied(binding):
        return False
    counts = running(binding)
    written = binding.metadata.annotations.get(ANNOTATION, "")
    if written.startswith(SHORT):
        return written == mark(knobs, ask, counts, short=True)
    divided = is_workload(binding) and ask.policy.mode is not Mode.DUPLICATED
    known = written if written.startswith(PLACED) else ""
    return divided and sum(counts.values()) == binding.spec.replicas and known == mark(knobs, ask, counts, short=False)


def running(binding: ResourceBinding) -> dict[str, int]:
    """What the binding's clusters are now."""
    return {each.name: each.replicas for each in binding.spec.clusters}


def is_workload(binding: ResourceBinding) -> bool:
    """Whether replicas mean anything: a ConfigMap goes whole to every chosen cluster."""
    return binding.spec.replicas > 0 or binding.spec.replica_requirements is not None


def mark(knobs: Knobs, ask: DivisionAsk, counts: Mapping[str, int], *, short: bool) -> str:
    """The mark of a decision: empty where all was placed and nothing but Karmada's fields had a say.

    With `rescheduling: fresh` other clusters make another mark, and for what is short of room other room does.
    """
    follows = knobs.rescheduling == "fresh"
    # Another default of the configuration is no reason to divide anew, so the mark knows only one.
    said = msgspec.structs.replace(knobs, sticky=knobs.sticky or Sticky.MOST)
    if said == Knobs(sticky=Sticky.MOST) and not short:
        return ""
    what: list[Any] = [said]
    if short or follows:
        what += [ask.workload.replicas, sorted(counts.items()), _rows(ask, counts, with_room=short)]
    content = msgspec.json.encode(what, order="deterministic")
    return f"{SHORT if short else PLACED}:{hashlib.blake2b(content, digest_size=16).hexdigest()}"


def _rows(ask: DivisionAsk, counts: Mapping[str, int], *, with_room: bool) -> list[list[Any]]:
    """The clusters that pass for at least one group, with what the division reads of them."""
    clusters, policy = ask.clusters, ask.policy
    groups: Sequence[FleetAffinity | None] = policy.affinities or (None,)
    columns = np.stack([passing(clusters, policy, group, counts) == 0 for group in groups])
    labels = [each.label for each in policy.spread if each.by is SpreadBy.LABEL]
    rows = []
    for place in np.flatnonzero(columns.any(axis=0)).tolist():
        row: list[Any] = [clusters.names[place], int(clusters.weights[place]), columns[:, place].tolist()]
        if policy.spread:
            row.append(_traits(clusters, place, labels))
        if with_room:
            row.append(int(clusters.capacity[place]))
        rows.append(row)
    return sorted(rows)


def _traits(clusters: ClusterTable, place: int, labels: Sequence[str]) -> list[Any]:
    traits = clusters.traits_of(place)
    return [traits.region, list(traits.zones), traits.provider, [traits.labels.get(label) for label in labels]]
