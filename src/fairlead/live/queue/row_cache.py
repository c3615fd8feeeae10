"""Rows of jobs that did not change since the last turn: most of a turn over thousands of gangs would be making them."""

from collections.abc import Collection

from fairlead.live.cluster.identity import JobKey
from fairlead.live.cluster.turn_types import LiveJob
from fairlead.live.queue.tables import Budgets, Row, row_of
from fairlead.model.jobs import UNSET

SPARE = 8
"""Rows are kept until there are so many times as many as jobs; a job has up to four, by its two flags."""


class RowCache:
    """By job; a job that changed is another object. Rows that depend on more than the job are made anew each time."""

    def __init__(self) -> None:
        self._rows: dict[tuple[JobKey, bool, bool], tuple[LiveJob, Row]] = {}

    def row(self, job: LiveJob, budgets: Budgets | None, fixed: Collection[str], *, astray: bool) -> Row:
        """See `row_of`."""
        if fixed and any(pod.metadata.uid in fixed for role in job.roles for pod, _ in role.running):
            return row_of(job, budgets, fixed, astray=astray)
        key = job.key, budgets is not None, astray
        known = self._rows.get(key)
        if known is not None and known[0] is job:
            return known[1]
        made = row_of(job, budgets, astray=astray)
        if not self._of_one_turn(job, made):
            self._rows[key] = job, made
        return made

    def _of_one_turn(self, job: LiveJob, made: Row) -> bool:
        """Whether the row depends on more than the job: rows of disruption budgets, and pods that are not evicted for
        a time. (An edit of a budget makes new jobs, see `rules_changed`.)"""
        covered = any(held.budget != UNSET for role in made.wanted.roles for held in role.held)
        return covered or any(pod.queue_fields.cools_until for role in job.roles for pod, _ in role.running)

    def keep(self, there: Collection[JobKey]) -> None:
        """Forget the rows of jobs that are not there any more, now and then."""
        if len(self._rows) > SPARE * (len(there) + 1):
            self._rows = {key: row for key, row in self._rows.items() if key[0] in there}
