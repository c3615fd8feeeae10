"""How many replicas may be created: what quotas and holds say in a plan, they say while time goes by."""

from collections.abc import Iterable

from fairlead.engine.admission import QuotaLeft, quota_turns, within
from fairlead.model.order import natural_key
from fairlead.sim.events import Timeline
from fairlead.sim.jobs import SimJob
from fairlead.sim.turns import SimTurns


class SimQuotas:
    """Bounds what waiting jobs ask for."""

    def __init__(self, story: Timeline, turns: SimTurns) -> None:
        self._quotas, self._turns = story.quotas, turns
        self._namespaces = {quota.namespace for quota in story.quotas}
        self.matter = bool(story.quotas) or any(arrival.workload.held for arrival in story.arrivals)
        """Whether anything is ever bounded."""

    def bound(self, waiting: Iterable[SimJob]) -> None:
        """Every job that waits knows how many replicas of each of its parts may be created."""
        jobs = [job for job in waiting if job.workload.held or job.workload.namespace in self._namespaces]
        jobs.sort(key=lambda job: natural_key(job.workload.key))
        splits = [job.wanted() for job in jobs]
        limits, _ = within(self._left(), splits, quota_turns(splits))
        for job, split, most in zip(jobs, splits, limits, strict=True):
            job.limits = {part.tier: count for part, count in zip(split.parts, most, strict=True)}

    def _left(self) -> dict[str, list[QuotaLeft]]:
        """The quotas without what runs."""
        found: dict[str, list[QuotaLeft]] = {}
        for quota in self._quotas:
            left = QuotaLeft(quota.name, dict(quota.hard))
            for (_, namespace), amounts in self._turns.held.items():
                if namespace == quota.namespace:
                    left.take(dict(zip(self._turns.resources, amounts, strict=True)), 1)
            found.setdefault(quota.namespace, []).append(left)
        return found
