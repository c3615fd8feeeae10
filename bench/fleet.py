"""Dividing over clusters: one binding, and a hundred thousand, against one heap turn a replica."""

import heapq
import resource
from collections.abc import Callable
from functools import partial

import numpy as np
from tests.fleet.matrices import divide_many

from bench.goals import Figure
from bench.measure import CPU, Report, milliseconds, ratio, side_by_side
from fairlead.levels.fleet.divide import divide
from fairlead.model.clusters import ClusterTable, cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, Mode, PriorDivision

KARMADA_MS = {(100, 1_000): 0.29, (100, 10_000): 2.6, (1_000, 10_000): 4.0}
"""Karmada's own code in Go, one division by Webster, measured once on two shared cores; by clusters and replicas."""


def run(report: Report) -> None:
    """All tables, in processor time of one core."""
    _one(report)
    _many(report)


def _fleet(clusters: int) -> ClusterTable:
    weights = np.random.default_rng(clusters).integers(1, 100, clusters)
    return cluster_table([f"member{number}" for number in range(clusters)], weights=weights.tolist())


def _one(report: Report) -> None:
    """One division: static with its draw, static that keeps its prior, Webster; the cost hardly grows with replicas."""
    rows = []
    for clusters, replicas in ((10, 100), (100, 1_000), (100, 10_000), (100, 1_000_000), (1_000, 10_000)):
        table = _fleet(clusters)
        workload = DivideWorkload(name="web", uid="uid", replicas=replicas)
        first = divide(workload, table, DividePolicy())
        weights = dict(zip(table.names, table.weights.tolist(), strict=True))
        prior = PriorDivision(replicas=replicas, weights=weights, counts=dict(first.placements))
        webster = DividePolicy(mode=Mode.WEBSTER)
        took = side_by_side(
            {
                "drawn": _often(partial(divide, workload, table, DividePolicy())),
                "kept": _often(partial(divide, workload, table, DividePolicy(), prior=prior)),
                "webster": _often(partial(divide, workload, table, webster)),
                "heap": partial(heap_webster, table.names, table.weights.tolist(), replicas),
            },
            repeats=60,
            budget_s=0.6,
            clock=CPU,
        )
        took = {name: seconds / (1 if name == "heap" else _TIMES) for name, seconds in took.items()}
        karmada = KARMADA_MS.get((clusters, replicas))
        rows.append(
            (
                f"{clusters:,}",
                f"{replicas:,}",
                *(milliseconds(took[name]) for name in ("drawn", "kept", "webster", "heap")),
                ratio(took["heap"], took["webster"]),
                f"{karmada} ms" if karmada else "–",
            )
        )
    headers = (
        "clusters",
        "replicas",
        "static, drawn",
        "static, kept",
        "webster",
        "a turn a replica",
        "ratio",
        "Karmada, Go",
    )
    report.table("one binding (processor time)", headers, rows)


_TIMES = 20
"""Divisions in a row: what one of them takes in a busy program, without the clock's own cost."""


def _often(call: Callable[[], object]) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(_TIMES):
            call()

    return calls


def one_binding() -> Figure:
    """Webster over 100 clusters, milliseconds."""
    sizes, table, policy = (10, 100, 1_000), _fleet(100), DividePolicy(mode=Mode.WEBSTER)
    workloads = [DivideWorkload(name="web", uid="uid", replicas=replicas) for replicas in sizes]
    values = [
        side_by_side({"": _often(partial(divide, workload, table, policy))}, repeats=60, budget_s=0.6, clock=CPU)[""]
        for workload in workloads
    ]
    return Figure(
        sizes=tuple(f"{replicas:,} replicas" for replicas in sizes),
        values=tuple(seconds / _TIMES * 1e3 for seconds in values),
    )


def _many(report: Report) -> None:
    """Many bindings with weights of their own, as one matrix. Memory is the peak of the whole process."""
    rows = []
    for bindings in (1_000, 10_000, 100_000):
        table = _fleet(100)
        draw = np.random.default_rng(bindings)
        uids = [f"uid-{number}" for number in range(bindings)]
        weights = draw.integers(1, 1_000, (bindings, 100))
        replicas = draw.integers(1, 10_000, bindings)
        took = side_by_side(
            {"many": partial(divide_many, uids, replicas, table, DividePolicy(), weights=weights)},
            repeats=3,
            budget_s=4.0,
            clock=CPU,
        )["many"]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append((f"{bindings:,}", milliseconds(took), f"{took / bindings * 1e6:.3g} µs", f"{peak:.0f} MiB"))
    report.table("many bindings over 100 clusters (processor time)", ("bindings", "all", "each", "peak memory"), rows)


def heap_webster(names: tuple[str, ...], weights: list[int], replicas: int) -> dict[str, int]:
    """Webster's rule as it is usually written: a heap turn for every replica."""
    seats = dict.fromkeys(names, 0)
    queue: list[tuple[float, int, str, int]] = [
        (-weight, 0, name, weight) for name, weight in zip(names, weights, strict=True)
    ]
    heapq.heapify(queue)
    for _ in range(replicas):
        _, had, name, weight = queue[0]
        seats[name] = had + 1
        heapq.heapreplace(queue, (-weight / (2 * had + 3), had + 1, name, weight))
    return seats
