"""What matters of a binding, as a short text: equal texts, equal question.

The text is stored on the binding with every result. A binding whose text is still right is settled: a label, a new
resource version, more or less room and a restart of this process change nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.levels.fleet.select import filtered
from fairlead.model.clusters import ClusterTable
from fairlead.model.division import NO_PRIOR, Affinity, DividePolicy, DivisionAsk, SpreadBy, Ties

ANNOTATION = "fairlead.io/decided"
SETTLED, SHORT = "s1", "r1"
"""What the text begins with: all placed, or short of room (then room is part of the text)."""


def digest(binding: ResourceBinding, ask: DivisionAsk, counts: Mapping[str, int], kind: str) -> str:
    """The text of a binding whose clusters are (or will be) `counts`."""
    spec = binding.spec
    what: list[Any] = [
        spec.placement,
        spec.replica_requirements,
        ask.workload.uid,
        ask.workload.replicas,
        spec.reschedule_triggered_at,
        _knobs(ask.policy),
        _rows(ask, counts, with_room=kind == SHORT),
        sorted(counts.items()),
    ]
    content = msgspec.json.encode(what, order="deterministic")
    return f"{kind}:{hashlib.blake2b(content, digest_size=16).hexdigest()}"


def narrowed(ask: DivisionAsk) -> DivisionAsk:
    """The same question over the clusters that pass the filters, where there is but one affinity group.

    Without filters many questions fit one matrix. The answer is the same but for the clusters that were removed.
    """
    policy = ask.policy
    if len(policy.affinities) > 1 or policy.spread or not ask.clusters.traits:
        return ask
    running = (ask.prior or NO_PRIOR).running
    column = filtered(ask.clusters, policy, policy.affinities[0] if policy.affinities else None, running)
    if not len(column) or column.all():
        return ask
    rows = ask.clusters.take(np.flatnonzero(column == 0))
    return replace(ask, clusters=replace(rows, traits=()), policy=replace(policy, affinities=(), tolerations=()))


def _knobs(policy: DividePolicy) -> list[Any]:
    """What the annotations say; the placement has the rest, and a new start is told by its time."""
    flags = [policy.respect_room, policy.partial, policy.packed, policy.balance_residuals]
    # What was settled before this knob existed stays settled.
    ties = [] if policy.ties is Ties.UID else [policy.ties.value]
    return [policy.mode.value, policy.sticky.value, str(policy.coefficient), flags, *ties]


def _rows(ask: DivisionAsk, counts: Mapping[str, int], *, with_room: bool) -> list[list[Any]]:
    """The clusters that pass for at least one group, with what the division reads of them."""
    clusters, policy = ask.clusters, ask.policy
    groups: Sequence[Affinity | None] = policy.affinities or (None,)
    columns = np.stack([filtered(clusters, policy, group, counts) == 0 for group in groups])
    labels = [each.label for each in policy.spread if each.by is SpreadBy.LABEL]
    rows = []
    for place in np.flatnonzero(columns.any(axis=0)).tolist():
        row: list[Any] = [
            clusters.names[place],
            int(clusters.weights[place]),
            int(clusters.minimum[place]),
            int(clusters.maximum[place]),
            columns[:, place].tolist(),
        ]
        if policy.spread:
            row.append(_traits(clusters, place, labels))
        if with_room:
            row.append(int(clusters.capacity[place]))
        rows.append(row)
    return sorted(rows)


def _traits(clusters: ClusterTable, place: int, labels: Sequence[str]) -> list[Any]:
    traits = clusters.traits_of(place)
    return [traits.region, list(traits.zones), traits.provider, [traits.labels.get(label) for label in labels]]
