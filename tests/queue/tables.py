"""The three tables of the namespace fair share proposal, and problems made from them."""

from typing import Any, NamedTuple


class Row(NamedTuple):
    """One line of a table: cpu asked for and cpu assigned."""

    queue: str
    namespace: str
    weight: int
    requested: int
    assigned: int


class Table(NamedTuple):
    """A table: 16 cpu, queues with their weight and what they are assigned, and its rows."""

    queues: dict[str, tuple[int, int]]
    rows: tuple[Row, ...]


TABLES = {
    "default weights": Table(
        {"q1": (1, 8), "q2": (1, 8)},
        (
            Row("q1", "ns1", 1, 5, 4),
            Row("q1", "ns2", 1, 10, 4),
            Row("q2", "ns3", 1, 10, 6),
            Row("q2", "ns4", 1, 2, 2),
        ),
    ),
    "weighted queues and namespaces": Table(
        {"q1": (1, 4), "q2": (3, 12)},
        (
            Row("q1", "ns1", 3, 5, 3),
            Row("q1", "ns2", 1, 10, 1),
            Row("q2", "ns3", 2, 10, 10),
            Row("q2", "ns4", 6, 2, 2),
        ),
    ),
    # The request of the first row is blank in the text; 4 cpu or more of it give the numbers beside it.
    "one namespace in two queues": Table(
        {"q1": (1, 4), "q2": (3, 12)},
        (
            Row("q1", "ns1", 2, 4, 4),
            Row("q2", "ns1", 2, 5, 3),
            Row("q2", "ns2", 6, 20, 9),
        ),
    ),
}


def problem(table: Table, *, one_job: bool) -> dict[str, Any]:
    """The table as JSON: one elastic job a row, or one job a cpu."""
    jobs: list[dict[str, Any]] = []
    for row in table.rows:
        base = {"queue": row.queue, "namespace": row.namespace, "request": {"cpu": "1"}}
        name = f"{row.queue}-{row.namespace}"
        if one_job:
            jobs.append({"name": name, "replicas": row.requested, **base})
        else:
            jobs.extend({"name": f"{name}-{number}", "replicas": 1, **base} for number in range(row.requested))
    weights = {row.namespace: row.weight for row in table.rows}
    return {
        "total": {"cpu": "16"},
        "queues": [{"name": name, "weight": weight} for name, (weight, _) in table.queues.items()],
        "namespaces": [{"name": name, "weight": weight} for name, weight in weights.items()],
        "jobs": jobs,
    }
