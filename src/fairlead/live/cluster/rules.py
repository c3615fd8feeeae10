"""Priority classes and disruption budgets: which pod's turn comes first, and which may be evicted."""

from collections.abc import Callable, Iterator
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Key
from fairlead.kube.codec.queues import default_priority
from fairlead.kube.codec.shapes import selector
from fairlead.kube.objects.policy import PodDisruptionBudget, PriorityClass
from fairlead.kube.resources import DISRUPTION_BUDGETS, PRIORITY_CLASSES, Resource
from fairlead.kube.watched_objects import WatchedObjects
from fairlead.model.errors import InputError
from fairlead.model.population import Resident
from fairlead.model.selectors import LabelSelector

NEVER = "Never"
MOST_KNOWN = 20_000
"""Sorts of pods of which it is remembered which budgets cover them."""


@dataclass(frozen=True, slots=True)
class Cover:
    """A disruption budget over a pod, and how many of its pods may still be asked to leave."""

    budget: Key
    allowed: int


class DisruptionRules(WatchedObjects):
    """Kept by watches like the nodes; `on_change` is called when a budget or a class changed.

    A budget whose selector cannot be read covers no pod, and is `InputError` when it comes.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.classes: dict[Key, PriorityClass] = {}
        self.budgets: dict[Key, PodDisruptionBudget] = {}
        self._on_change = on_change
        self._selectors: dict[Key, LabelSelector | None] | None = None
        self._covering: dict[Resident, tuple[Key, ...]] = {}

    def kept(self) -> Iterator[tuple[Resource[Any], dict[Key, Any]]]:
        """Every resource that is followed, with what is known of it."""
        yield PRIORITY_CLASSES, self.classes
        yield DISRUPTION_BUDGETS, self.budgets

    def priority(self, name: str) -> int:
        """The value of a class; of one that is not there, and of the empty name, that of the default class, else 0."""
        found = self.classes.get(("", name))
        if found is not None:
            return found.value
        return default_priority(self.classes.values())

    def never_preempts(self, name: str) -> bool:
        """Whether those of the class wait instead of making room for themselves."""
        found = self.classes.get(("", name))
        return found is not None and found.preemption_policy == NEVER

    def cover(self, who: Resident) -> Cover | None:
        """The tightest budget over such a pod; None where none covers it.

        A budget that its controller has not looked at since its last edit allows nothing, and neither does any where
        several cover the pod: the server refuses such evictions.
        """
        covering = self._budgets_over(who)
        if not covering:
            return None
        budget = min(covering, key=lambda key: (self._allowed(key), key))
        return Cover(budget, self._allowed(budget) if len(covering) == 1 else 0)

    def _allowed(self, key: Key) -> int:
        budget = self.budgets[key]
        fresh = budget.status.observed_generation >= budget.metadata.generation
        return max(budget.status.disruptions_allowed, 0) if fresh else 0

    def _budgets_over(self, who: Resident) -> tuple[Key, ...]:
        if who not in self._covering:
            if len(self._covering) >= MOST_KNOWN:
                self._covering.clear()
            if self._selectors is None:
                self._selectors = {key: _selector(budget) for key, budget in self.budgets.items()}
            labels = dict(who.labels)
            self._covering[who] = tuple(
                key
                for key, chosen in self._selectors.items()
                if key[0] == who.namespace and chosen is not None and chosen.selects(labels)
            )
        return self._covering[who]

    def _noted(self, resource: Resource[Any], before: Any, now: Any) -> None:
        self._selectors = None
        self._covering.clear()
        self._on_change()
        if resource is DISRUPTION_BUDGETS and now is not None:
            selector(now.spec.selector)


def _selector(budget: PodDisruptionBudget) -> LabelSelector | None:
    try:
        return selector(budget.spec.selector)
    except InputError:
        return None
