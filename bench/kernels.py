"""How the kernels' cost grows: with targets, nearly in step; with units, hardly at all."""

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.measure import CPU, Report, best, milliseconds, ratio, side_by_side
from fairlead.kernel.apportion import webster
from fairlead.kernel.level import level
from fairlead.kernel.lottery import keys, winners
from fairlead.kernel.waterfill import fluid

Ints = NDArray[np.int64]
TARGETS = (100, 1_000, 10_000, 100_000)


def run(report: Report) -> None:
    """All tables, in processor time of one core."""
    _against_heap(report, "level, every step 1", _unit_level)
    _against_heap(report, "level, steps 1 … 1000", _mixed_level)
    _against_heap(report, "webster, weights 1 … 100", _small_webster)
    _against_heap(report, "webster, all weights equal", _equal_webster)
    _growth_with_units(report)
    _others(report)


Contest = Callable[[int, int], tuple[Callable[[], object], Callable[[], object]]]


def _against_heap(report: Report, title: str, contest: Contest) -> None:
    """Ten units a target, and a million units on few."""
    rows = []
    for targets, units in (*((targets, 10 * targets) for targets in TARGETS), (100, 1_000_000)):
        kernel, heap = contest(targets, units)
        took = side_by_side({"kernel": kernel, "heap": heap}, repeats=9, budget_s=0.5, clock=CPU)
        times = (took["kernel"], took["heap"])
        rows.append((f"{targets:,}", f"{units:,}", *map(milliseconds, times), ratio(times[1], times[0])))
    report.table(f"{title} (processor time)", ("targets", "units", "kernel", "a turn a unit", "ratio"), rows)


def _growth_with_units(report: Report) -> None:
    """100,000 targets, ten times the units and ten times again."""
    contests = {
        "level, every step 1": _unit_level,
        "level, steps 1 … 1000": _mixed_level,
        "webster, weights 1 … 100": _small_webster,
        "webster, all weights equal": _equal_webster,
    }
    rows = []
    for title, contest in contests.items():
        sizes = {f"{units:,}": contest(100_000, units)[0] for units in (100_000, 1_000_000, 10_000_000)}
        took = side_by_side(sizes, repeats=9, clock=CPU)
        growth = ratio(took["10,000,000"], took["1,000,000"])
        rows.append((title, *(milliseconds(seconds) for seconds in took.values()), growth))
    headers = ("100,000 targets", "100,000 units", "1,000,000 units", "10,000,000 units", "last / before")
    report.table("growth with units (processor time)", headers, rows)


def _others(report: Report) -> None:
    """Kernels whose cost has one size only."""
    draw = np.random.default_rng(7)
    rows = []
    for size in TARGETS:
        weights, demands = draw.integers(1, 100, size), draw.integers(0, 2**40, (size, 3))
        totals = demands.sum(axis=0) // 2
        objects, targets = np.arange(size // 20, dtype=np.uint64), np.arange(20, dtype=np.uint64)
        table = draw.integers(1, 100, (size // 20, 20))
        calls = (
            lambda w=weights, d=demands, t=totals: fluid(t, w, d),
            lambda t=table, a=objects, b=targets: winners(t, keys(a, b, 1), 3),
        )
        rows.append((f"{size:,}", *(milliseconds(best(call, clock=CPU)) for call in calls)))
    headers = ("rows", "fluid levels of 3 resources", "lottery of n/20 × 20")
    report.table("other kernels (processor time)", headers, rows)


def _unit_level(targets: int, units: int) -> tuple[Callable[[], object], Callable[[], object]]:
    return _level(targets, units, np.ones(targets, dtype=np.int64))


def _mixed_level(targets: int, units: int) -> tuple[Callable[[], object], Callable[[], object]]:
    return _level(targets, units, np.random.default_rng(2).integers(1, 1001, targets))


def _level(targets: int, units: int, step: Ints) -> tuple[Callable[[], object], Callable[[], object]]:
    draw = np.random.default_rng(1)
    base = draw.integers(0, 50, targets) * step
    cap = np.full(targets, 4 * units // targets + 50)
    ranks = draw.permutation(targets)
    columns = (base.tolist(), step.tolist(), cap.tolist(), ranks.tolist())
    return lambda: level(units, base, step, cap, tie_rank=ranks), lambda: _level_by_turns(units, *columns)


def _small_webster(targets: int, units: int) -> tuple[Callable[[], object], Callable[[], object]]:
    return _webster(units, np.random.default_rng(3).integers(1, 101, targets))


def _equal_webster(targets: int, units: int) -> tuple[Callable[[], object], Callable[[], object]]:
    return _webster(units, np.ones(targets, dtype=np.int64))


def _webster(units: int, weights: Ints) -> tuple[Callable[[], object], Callable[[], object]]:
    ranks = np.random.default_rng(4).permutation(len(weights))
    columns = (weights.tolist(), ranks.tolist())
    return lambda: webster(weights, units, tie_rank=ranks), lambda: _webster_by_turns(units, *columns)


def _level_by_turns(units: int, base: list[int], step: list[int], cap: list[int], ranks: list[int]) -> list[int]:
    """One heap turn a unit."""
    counts = [0] * len(base)
    heap = [(base[i] + step[i], ranks[i], i) for i in range(len(base))]
    heapq.heapify(heap)
    for _ in range(units):
        result, rank_, i = heap[0]
        counts[i] += 1
        if counts[i] < cap[i]:
            heapq.heapreplace(heap, (result + step[i], rank_, i))
        else:
            heapq.heappop(heap)
    return counts


def _webster_by_turns(units: int, weights: list[int], ranks: list[int]) -> list[int]:
    """One heap turn a unit; quotients in floating point, which is faster than exact ones, to be fair."""
    seats = [0] * len(weights)
    heap = [(1 / weight, 0, ranks[i], i) for i, weight in enumerate(weights)]
    heapq.heapify(heap)
    for _ in range(units):
        _, held, rank_, i = heap[0]
        seats[i] = held + 1
        heapq.heapreplace(heap, ((2 * held + 3) / weights[i], held + 1, rank_, i))
    return seats
