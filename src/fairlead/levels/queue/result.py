"""The answer of the level, as rows with names."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairlead.levels.queue.state import State
from fairlead.model.decision import Decision
from fairlead.model.jobs import UNSET
from fairlead.model.reasons import Finding

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One queue after the decision; amounts by resource. `share` is allocated over deserved."""

    name: str
    deserved: Amounts
    allocated: Amounts
    requested: Amounts
    share: Fraction
    finding: Finding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceRow:
    """One namespace in one queue. `share` is its dominant share of the whole, not yet divided by its weight."""

    queue: str
    namespace: str
    weight: int
    allocated: Amounts
    requested: Amounts
    share: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One job: `admitted` replicas may run (those `running` before included), `pending` ones wait."""

    name: str
    queue: str
    namespace: str
    running: int
    admitted: int
    pending: int
    finding: Finding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing(Decision):
    """Who gets how much. `placements` are the replicas newly admitted, by job."""

    resources: tuple[str, ...]
    queues: tuple[QueueRow, ...]
    namespaces: tuple[NamespaceRow, ...]
    jobs: tuple[JobRow, ...]
    exact_deserved: tuple[tuple[Fraction, ...], ...]
    """[queue][resource], as a fraction; `queues` show it cut to whole units."""


def job_rows(state: State, findings: Mapping[int, Finding]) -> tuple[JobRow, ...]:
    """One row a job, in the order of the table."""
    world, members = state.world, state.members
    running = world.jobs.running.tolist()
    return tuple(
        JobRow(
            name=name,
            queue=world.jobs.queue_names[job],
            namespace=world.namespaces.names[int(world.jobs.namespace[job])],
            running=running[job],
            admitted=members.count(job),
            pending=members.pending(job),
            finding=findings.get(job),
        )
        for job, name in enumerate(world.jobs.names)
    )


def queue_rows(state: State, notes: Mapping[int, Finding]) -> tuple[QueueRow, ...]:
    """One row a queue, in the order of the table."""
    world = state.world
    return tuple(
        QueueRow(
            name=name,
            deserved=_named(world.jobs.resources, [int(amount) for amount in world.deserved[row]]),
            allocated=_named(world.jobs.resources, state.ledger.used[row]),
            requested={},
            share=state.queue_measures[row].share(state.ledger.used[row]),
            finding=world.tree.refused.get(row, notes.get(row)),
        )
        for row, name in enumerate(world.queues.names)
    )


def namespace_rows(state: State) -> tuple[NamespaceRow, ...]:
    """One row a namespace and queue that it has a job in, in the order in which the jobs name them."""
    world = state.world
    return tuple(
        NamespaceRow(
            queue=world.queues.names[queue],
            namespace=world.namespaces.names[namespace],
            weight=int(world.namespaces.weight[namespace]),
            allocated=_named(world.jobs.resources, state.pair_used[pair]),
            requested={},
            share=state.pair_measures[pair].share(state.pair_used[pair]) * int(world.namespaces.weight[namespace]),
        )
        for (queue, namespace), pair in world.pairs.items()
        if queue != UNSET
    )


def _named(resources: tuple[str, ...], amounts: list[int]) -> Amounts:
    return dict(zip(resources, amounts, strict=True))
