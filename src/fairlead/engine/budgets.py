"""What disruption budgets say to emptying nodes: which of them stops it, and in how many steps the others let it be."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.model.budgets import Budget
from fairlead.model.columns import Bool
from fairlead.model.snapshot import Site, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """A budget whose replicas have to go: `evicted` of them, `allowed` at one time."""

    budget: Budget
    evicted: int
    allowed: int

    @property
    def steps(self) -> int | None:
        """How often evicted replicas have to be back elsewhere first, at least; None where none may go."""
        return -(-self.evicted // self.allowed) if self.allowed else None

    @property
    def sentence(self) -> str:
        """The budget in words."""
        who = f"budget {self.budget.namespace}/{self.budget.name}"
        if self.steps is None:
            return f"{who} stops it: {self.evicted} would be evicted, and none may be missing"
        step = "1 step" if self.steps == 1 else f"{self.steps} steps"
        return f"{who}: {self.evicted} evicted, {self.allowed} at a time, {step}"


def disruptions(snapshot: Snapshot, nodes: frozenset[str]) -> tuple[Disruption, ...]:
    """The budgets that emptying these nodes touches. What belongs to its node is not evicted."""
    found: list[Disruption] = []
    for site in snapshot.sites:
        gone = np.array([name in nodes for name in site.nodes.names], dtype=np.bool_)
        found.extend(_of_site(site, gone) if gone.any() else ())
    return tuple(found)


def _of_site(site: Site, gone: Bool) -> Iterator[Disruption]:
    population = site.population
    moves = gone[population.rows] & (np.arange(len(population.rows)) >= site.fixed)
    for budget in site.budgets:
        mine = np.array(
            [_selects(budget, each.namespace, dict(each.labels)) for each in population.residents], dtype=bool
        )
        selected = mine[population.codes] if len(mine) else np.zeros(len(population.rows), dtype=np.bool_)
        evicted = int((selected & moves).sum())
        if evicted:
            healthy = int((selected & ~population.leaving).sum())
            yield Disruption(budget=budget, evicted=evicted, allowed=budget.allows(healthy))


def _selects(budget: Budget, namespace: str, labels: dict[str, str]) -> bool:
    return namespace == budget.namespace and budget.selector is not None and budget.selector.selects(labels)


def steps_record(found: tuple[Disruption, ...]) -> dict[str, Any]:
    """The budgets as plain values; `steps` is that of the slowest, None where one of them stops it."""
    steps = [each.steps for each in found if each.steps is not None]
    rows = [
        {
            "budget": f"{each.budget.namespace}/{each.budget.name}",
            "evicted": each.evicted,
            "allowed": each.allowed,
            "steps": each.steps,
        }
        for each in found
    ]
    return {"budgets": rows, "steps": max(steps, default=1) if len(steps) == len(found) else None}
