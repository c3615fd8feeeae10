"""The node level at full size: strategies over 100,000 nodes, bound cpu on many nodes and on large ones."""

import heapq
from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from bench.goals import Figure
from bench.measure import CPU, Report, best, milliseconds, ratio, side_by_side
from fairlead.levels.node import cores
from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.capacity import fit
from fairlead.levels.node.corepins import core_pins
from fairlead.levels.node.packing import pack
from fairlead.levels.node.request import NodeRequest
from fairlead.levels.node.strategies import BY_NAME
from fairlead.model.nodes import NodeTable, Room, node_table

NODES, REPLICAS = 100_000, 1_000_000
VOLUMES = ((4, 2), (8, 3), (16, 3), (32, 4))
"""Volumes of a node, sizes of a request."""
PROBLEMS = 20
PEER_MS = {"communism": 1080, "global": 690, "global-greedy": 690, "fill": 33, "average": 23}
"""What eru's Go code took for the same sizes on a machine of this kind, in milliseconds."""


def run(report: Report) -> None:
    """All tables, in processor time of one core."""
    nodes = _cluster(NODES)
    _strategies(report, nodes)
    _growth(report, nodes)
    _bound_cpu(report)
    _volumes(report)


def _cluster(size: int) -> NodeTable:
    draw = np.random.default_rng(11)
    return node_table(
        [f"node{row}" for row in range(size)],
        draw.integers(0, 50, size),
        count=draw.integers(0, 20, size),
        usage=draw.integers(0, 10**6, size),
        rate=draw.integers(1, 10**5, size),
        scale=10**6,
    )


def _strategies(report: Report, nodes: NodeTable) -> None:
    """Each strategy beside one heap turn a replica, where the rule can be written so."""
    asks = {
        "communism": NodeAsk(need=REPLICAS, each=0),
        "global-greedy": NodeAsk(need=REPLICAS, each=0),
        "global": NodeAsk(need=REPLICAS, each=0),
        "fill": NodeAsk(need=0, each=15, limit=NODES // 2),
        "average": NodeAsk(need=0, each=15, limit=NODES // 2),
        "drained": NodeAsk(need=REPLICAS, each=0),
    }
    heaps: dict[str, Callable[[], object]] = {
        "communism": lambda: _turns(nodes, nodes.count, np.ones(len(nodes), dtype=np.int64)),
        "global-greedy": lambda: _turns(nodes, nodes.usage, nodes.rate),
    }
    rows = []
    for name, ask in asks.items():
        rule = BY_NAME[name].strategy
        calls: dict[str, Callable[[], object]] = {"bulk": partial(rule, nodes, ask)}
        if name in heaps:
            calls["heap"] = heaps[name]
        took = side_by_side(calls, repeats=5, budget_s=4, clock=CPU)
        heap = took.get("heap")
        rows.append(
            (
                name,
                milliseconds(took["bulk"]),
                milliseconds(heap) if heap else "",
                ratio(heap, took["bulk"]) if heap else "",
                f"{PEER_MS[name]} ms" if name in PEER_MS else "",
            )
        )
    report.table(
        f"strategies, {NODES:,} nodes × {REPLICAS:,} replicas (fill and average: 15 a node on half of them)",
        ("strategy", "in bulk", "a heap turn a replica", "ratio", "eru (Go)"),
        rows,
    )


def _turns(nodes: NodeTable, base: NDArray[np.int64], step: NDArray[np.int64]) -> list[int]:
    """The rule with one heap turn a replica."""
    steps, ranks = step.tolist(), nodes.rank.tolist()
    left = nodes.capacity.tolist()
    heap = [(at + steps[row], -left[row], ranks[row], row) for row, at in enumerate(base.tolist()) if left[row]]
    heapq.heapify(heap)
    added = [0] * len(steps)
    for _ in range(REPLICAS):
        if not heap:
            break
        result, capacity, rank, row = heap[0]
        added[row] += 1
        if added[row] < left[row]:
            heapq.heapreplace(heap, (result + steps[row], capacity, rank, row))
        else:
            heapq.heappop(heap)
    return added


def _growth(report: Report, nodes: NodeTable) -> None:
    """Ten times the replicas, twice."""
    rows = []
    for name in ("communism", "global-greedy", "global", "drained"):
        rule = BY_NAME[name].strategy
        took = [
            best(partial(rule, nodes, NodeAsk(need=need, each=0)), repeats=3, clock=CPU)
            for need in (20_000, 200_000, 2_000_000)
        ]
        rows.append((name, *map(milliseconds, took), ratio(took[2], took[1])))
    headers = ("100,000 nodes", "20,000 replicas", "200,000 replicas", "2,000,000 replicas", "last / before")
    report.table("growth with replicas", headers, rows)


def _bound_cpu(report: Report) -> None:
    """1.3 cores on nodes whose cores are free, partly used or full, and on cores that hold several times the base."""
    draw = np.random.default_rng(3)
    kinds = {
        "cores of one base": (np.array([0, 20, 55, 90, *[100] * 8]), "411 ms", "91 ms"),
        "cores of one to four bases": (np.array([0, 30, 75, 100, 100, 200, 300, 400]), "", ""),
    }
    rows = []
    for name, (states, peer_many, peer_large) in kinds.items():
        many = draw.choice(states, (1_000, 24))
        large = draw.choice(states, (1, 512))
        rooms = [
            Room(name=f"n{row}", cores=dict(zip(map(str, range(24)), pieces, strict=True)))
            for row, pieces in enumerate(many.tolist())
        ]
        named = {str(core): pieces for core, pieces in enumerate(large[0].tolist())}
        replicas = int(cores.capacity(large, 130, 100)[0])
        cells = [
            best(partial(cores.capacity, many, 130, 100), clock=CPU),
            best(partial(fit, rooms, NodeRequest(pieces=130)), clock=CPU),
            best(partial(cores.capacity, large, 130, 100), clock=CPU),
            best(partial(cores.capacity, large, 130, 100, 100), clock=CPU),
            best(partial(core_pins, named, replicas, 130, 100, None), clock=CPU),
        ]
        rows.append((name, *map(milliseconds, cells), peer_many, peer_large))
    headers = (
        "1.3 cores", "1,000 nodes × 24", "the same from maps", "one node of 512", "with a limit of 100", "all its pins",
        "eru 1,000 × 24", "eru 512",
    )  # fmt: skip
    report.table("bound cpu, every node in another state", headers, rows)


def _volumes(report: Report) -> None:
    """Mixed sizes: how long the exact search takes, and how often it proves its result."""
    rows = [
        (f"{bins} volumes, {sizes} sizes", milliseconds(took), f"{proved} of {PROBLEMS}")
        for bins, sizes in VOLUMES
        for took, proved in [_packed(bins, sizes)]
    ]
    report.table("packing volumes of mixed sizes", ("problem", "a node", "proved best"), rows)


@cache
def _packed(bins: int, sizes: int) -> tuple[float, int]:
    """Seconds a node, and of how many nodes the result is proved best."""
    draw = np.random.default_rng(5)
    for each in VOLUMES[: VOLUMES.index((bins, sizes)) + 1]:
        problems = [
            (draw.integers(100, 1000, each[0]).tolist(), draw.integers(20, 200, each[1]).tolist())
            for _ in range(PROBLEMS)
        ]
    found = [pack(*problem) for problem in problems]
    took = best(lambda: [pack(*problem) for problem in problems], repeats=2, clock=CPU)
    return took / PROBLEMS, sum(each.replicas == each.most for each in found)


def last_lap() -> Figure:
    """`global` with ten replicas a node."""
    sizes = (1_000, 10_000, NODES)
    rule = BY_NAME["global"].strategy
    asked = [(_cluster(size), NodeAsk(need=10 * size, each=0)) for size in sizes]
    values = [best(partial(rule, nodes, ask), clock=CPU) * 1e3 for nodes, ask in asked]
    return Figure(sizes=tuple(f"{size:,} nodes" for size in sizes), values=tuple(values))


def mixed_volumes() -> Figure:
    """Milliseconds a node."""
    return _over_volumes([_packed(*problem)[0] * 1e3 for problem in VOLUMES])


def proved_volumes() -> Figure:
    """How many results are proved best."""
    return _over_volumes([_packed(*problem)[1] for problem in VOLUMES])


def _over_volumes(values: Sequence[float]) -> Figure:
    return Figure(sizes=tuple(f"{bins} of {sizes}" for bins, sizes in VOLUMES), values=tuple(values))
