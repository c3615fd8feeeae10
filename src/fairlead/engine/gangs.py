"""Gangs of several workloads: their roles start together, or none of them does."""

from collections.abc import Sequence
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

    def members(self) -> list[Asked]:
        """What was asked; a member's own minimum is what the gang lacks when all others are whole."""
        result = list(self._asked)
        for rows in self.rows:
            whole = sum(self._asked[row][1] for row in rows)
            for row in rows if len(rows) > 1 else ():
                workload, replicas = self._asked[row]
                result[row] = replace(workload, least_together=max(self.least(rows) - (whole - replicas), 1)), replicas
        return result
