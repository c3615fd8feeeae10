"""Gangs of several workloads: their roles start together, or none of them does."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from fairlead.model.workload import Workload

Asked = tuple[Workload, int]
"""A workload and how many replicas of it are asked for."""


class RoleGangs:
    """The workloads of a site by what starts together: `rows` has the rows of each gang, of one or several."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        rows: dict[str, list[int]] = {}
        for row, (workload, _) in enumerate(asked):
            rows.setdefault(workload.gang or f"{row}", []).append(row)
        self._asked = asked
        self.rows = list(rows.values())

    def least(self, rows: Sequence[int]) -> int:
        """How many replicas of these workloads start together at least."""
        return self._asked[rows[0]][0].least_together

    def members(self, running: Callable[[Workload], int]) -> list[Asked]:
        """What was asked; a member's own minimum is what the gang lacks when all others are whole.

        More may be running of a workload than is asked for: these are of the gang until they end.
        """
        result = list(self._asked)
        for rows in self.rows:
            if len(rows) > 1:
                sizes = [max(replicas, running(workload)) for workload, replicas in map(self._asked.__getitem__, rows)]
                for row, size in zip(rows, sizes, strict=True):
                    workload, replicas = self._asked[row]
                    own = max(self.least(rows) - (sum(sizes) - size), 1)
                    result[row] = replace(workload, least_together=own), replicas
        return result
