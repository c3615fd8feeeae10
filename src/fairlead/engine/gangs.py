"""RoleGangs of several workloads: their roles start together, or none of them does."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairlead.engine.refusals import gang_does_not_fit
from fairlead.engine.site_plan import PartPath
from fairlead.levels.queue.result import JobRow
from fairlead.model.reasons import Finding
from fairlead.model.workload import Workload


class RoleGangs:
    """The gangs among the workloads of a site, by the rows of their members; a gang of one is its workload's matter."""

    def __init__(self, asked: Sequence[tuple[Workload, int]]) -> None:
        rows: dict[str, list[int]] = defaultdict(list)
        for row, (workload, _) in enumerate(asked):
            if workload.gang:
                rows[workload.gang].append(row)
        self._asked = asked
        self._rows = [members for members in rows.values() if len(members) > 1]

    def __len__(self) -> int:
        return len(self._rows)

    def members(self) -> list[tuple[Workload, int]]:
        """What was asked; a member's own minimum is what the gang lacks when all others are whole."""
        result = list(self._asked)
        for rows in self._rows:
            whole = sum(self._asked[row][1] for row in rows)
            for row in rows:
                workload, replicas = self._asked[row]
                least = max(min(workload.least_together, whole) - (whole - replicas), 1)
                result[row] = replace(workload, least_together=least), replicas
        return result

    def broken(self, parts: Mapping[int, Sequence[PartPath]], jobs: Sequence[JobRow]) -> dict[int, Finding]:
        """The rows of gangs that have begun and are not whole, with the reason of the nodes, else that of the queue."""
        found: dict[int, Finding] = {}
        for rows in self._rows:
            paths = [path for row in rows for path in parts[row]]
            there = sum(path.part.running + path.placed for path in paths)
            least = min(self._asked[rows[0]][0].least_together, sum(self._asked[row][1] for row in rows))
            if not any(path.placed for path in paths) or there >= least:
                continue
            queued = next((jobs[row].finding for row in rows if jobs[row].finding is not None), None)
            refused = any(path.rejected for path in paths)
            why = queued if queued is not None and not refused else gang_does_not_fit(paths, there, least)
            found.update(dict.fromkeys(rows, why))
        return found
