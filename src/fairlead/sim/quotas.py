"""How many replicas may be created: what quotas and holds say in a plan, they say while time goes by."""

from collections.abc import Collection

from fairlead.engine.admission import QuotaLeft, quota_turns, within
from fairlead.model.order import natural_key
from fairlead.model.quotas import NamespaceQuota
from fairlead.sim.events import Timeline
from fairlead.sim.turns import SimTurns
from fairlead.sim.waiting import Waiting


class SimQuotas:
    """Bounds what waiting jobs ask for."""

    def __init__(self, story: Timeline, turns: SimTurns) -> None:
        self._turns = turns
        self._quotas: dict[str, list[NamespaceQuota]] = {}
        for quota in story.quotas:
            self._quotas.setdefault(quota.namespace, []).append(quota)
        self.matter = bool(story.quotas) or any(arrival.workload.held for arrival in story.arrivals)
        """Whether anything is ever bounded."""

    def bound(self, waiting: Waiting) -> None:
        """Every job that waits knows how many replicas of each of its parts may be created.

        That depends on its own namespace alone, so that where nothing has changed since, it knows it already.
        """
        touched, self._turns.touched = self._turns.touched, set()
        jobs = [job for job in waiting.of(touched) if job.workload.held or job.workload.namespace in self._quotas]
        jobs.sort(key=lambda job: natural_key(job.workload.key))
        splits = [job.wanted() for job in jobs]
        limits, _ = within(self._left(touched), splits, quota_turns(splits))
        for job, split, most in zip(jobs, splits, limits, strict=True):
            job.limits = {part.tier: count for part, count in zip(split.parts, most, strict=True)}

    def _left(self, namespaces: Collection[str]) -> dict[str, list[QuotaLeft]]:
        """The quotas of these namespaces without what runs."""
        found = {
            namespace: [QuotaLeft(quota.name, dict(quota.hard)) for quota in self._quotas[namespace]]
            for namespace in namespaces
            if namespace in self._quotas
        }
        for (_, namespace), amounts in self._turns.held.items():
            for left in found.get(namespace, ()):
                left.take(dict(zip(self._turns.resources, amounts, strict=True)), 1)
        return found
