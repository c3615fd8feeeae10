"""How far from the optimum each level is: random instances, solved by the level and by an exact solver (HiGHS).

A gap is (ours − optimum) / optimum, 0 being optimal. Levels that claim an optimum must show 0 in every instance;
the queue's turns and storage replicas placed one after the other claim less, and show how near they come.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import highspy

from bench.measure import Report
from fairlead.engine.tier_parts import parts
from fairlead.levels.disk.balance import Balance
from fairlead.levels.fleet.divide import divide
from fairlead.levels.queue.result import NamespaceRow
from fairlead.model.clusters import cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, PriorDivision, Sticky
from fairlead.model.shape import Shape
from fairlead.model.tiers import Tiers
from fairlead.model.workload import Workload
from fairlead.problems import balance, place, share
from fairlead.text.documents import strict

SIZES = {"small": (6, 40), "middle": (60, 10)}
"""Targets of an instance, and how many instances."""


@dataclass(frozen=True, slots=True)
class Result:
    """Ours and the solver's value of one instance; lower is better."""

    ours: float
    best: float

    @property
    def gap(self) -> float:
        """0 is optimal; less than 0 would mean that the two solve different problems. Solver noise is cut off."""
        return round((self.ours - self.best) / max(abs(self.best), 1.0), 6) + 0.0


Instance = Callable[[Random, int], Result]


def _solver() -> highspy.Highs:
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("mip_abs_gap", 1e-6)
    model.setOptionValue("threads", 1)
    return model


def _best(model: highspy.Highs, objective: Any) -> float:
    model.minimize(objective)
    assert model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(model.getObjectiveValue())


def _nodes(draw: Random, size: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"n{row}",
            "capacity": draw.randint(0, 9),
            "count": draw.randint(0, 6),
            "usage": draw.randint(0, 60) / 100,
            "rate": draw.randint(1, 20) / 100,
        }
        for row in range(size)
    ]


def _added(nodes: list[dict[str, Any]], strategy: str, need: int) -> list[int]:
    problem = strict({"strategy": strategy, "count": need, "nodes": nodes, "partial": True}, place.PROBLEM)
    placements = place.solve(problem).placements
    return [int(placements.get(node["name"], 0)) for node in nodes]


def _need(nodes: list[dict[str, Any]], draw: Random) -> int:
    return draw.randint(1, max(1, sum(node["capacity"] for node in nodes) * 2 // 3))


def communism(draw: Random, size: int) -> Result:
    """Sum of squared totals, which only the lexicographically lowest totals reach."""
    nodes = _nodes(draw, size)
    need = _need(nodes, draw)
    added = _added(nodes, "communism", need)
    model = _solver()
    units, costs = [], []
    for node in nodes:
        for unit in range(node["capacity"]):
            units.append(model.addBinary())
            costs.append(2 * (node["count"] + unit) + 1)
    model.addConstr(model.qsum(units) == min(need, len(units)))
    start = sum(node["count"] ** 2 for node in nodes)
    best = start + _best(model, model.qsum(cost * unit for cost, unit in zip(costs, units, strict=True)))
    ours = sum((node["count"] + more) ** 2 for node, more in zip(nodes, added, strict=True))
    return Result(ours, best)


def global_greedy(draw: Random, size: int) -> Result:
    """Highest use among the nodes that were given something, in percent."""
    nodes = _nodes(draw, size)
    need = _need(nodes, draw)
    added = _added(nodes, "global-greedy", need)
    model = _solver()
    top = model.addVariable(lb=0)
    counts = []
    for node in nodes:
        count, taken = model.addIntegral(lb=0, ub=node["capacity"]), model.addBinary()
        model.addConstr(count <= node["capacity"] * taken)
        model.addConstr(top >= round(100 * node["usage"]) * taken + round(100 * node["rate"]) * count)
        counts.append(count)
    model.addConstr(model.qsum(counts) == min(need, sum(node["capacity"] for node in nodes)))
    ours = max(
        (
            round(100 * node["usage"]) + round(100 * node["rate"]) * more
            for node, more in zip(nodes, added, strict=True)
            if more
        ),
        default=0,
    )
    return Result(ours, _best(model, top))


def fleet(draw: Random, size: int) -> Result:
    """Replicas that start somewhere new, over all results in quota (`sticky: most`)."""
    weights = [draw.randint(1, 9) for _ in range(size)]
    replicas = draw.randint(1, 6 * size)
    prior = [draw.randint(0, 10) for _ in range(size)]
    names = [f"m{row}" for row in range(size)]
    division = divide(
        DivideWorkload(name="web", replicas=replicas, uid="u"),
        cluster_table(names, weights=weights),
        DividePolicy(sticky=Sticky.MOST),
        prior=PriorDivision(replicas=sum(prior), counts=dict(zip(names, prior, strict=True))),
    )
    result = division.placements
    whole = sum(weights)
    model = _solver()
    counts, moves = [], []
    for weight, before in zip(weights, prior, strict=True):
        floor, rest = divmod(weight * replicas, whole)
        count, move = model.addIntegral(lb=floor, ub=floor + (rest > 0)), model.addVariable(lb=0)
        model.addConstr(move >= count - before)
        counts.append(count)
        moves.append(move)
    model.addConstr(model.qsum(counts) == replicas)
    best = _best(model, model.qsum(moves))
    ours = sum(max(0, result[name] - before) for name, before in zip(names, prior, strict=True))
    return Result(ours, best)


def tier(draw: Random, size: int) -> Result:
    """Replicas that must be on demand, over as many workloads: the fewest that keep every promise."""
    ours, model, held = 0, _solver(), []
    for row in range(size):
        replicas, percent = draw.randint(2, 40), draw.choice([None, draw.randint(0, 100)])
        least = draw.randint(0, 50)
        running = draw.randint(0, replicas)
        required = draw.randint(0, running)
        workload = Workload(
            kind="Deployment",
            namespace="shop",
            name=f"w{row}",
            replicas=replicas,
            shape=Shape(),
            tiered=True,
            min_available=str(least) if percent is None else f"{percent}%",
        )
        split = parts(workload, replicas, running, required, Tiers())
        ours += sum(part.running + part.need for part in split.parts if part.tier == "on-demand")
        # What runs stays where it is, so no more than the free replicas can be added to what is held already.
        most = required + replicas - running
        count = model.addIntegral(lb=required, ub=most)
        promised = 100 * least if percent is None else percent * replicas
        model.addConstr(100 * count >= min(promised, 100 * most))
        held.append(count)
    return Result(ours, _best(model, model.qsum(held)))


def queue(draw: Random, size: int) -> Result:
    """Largest distance of a namespace from its fluid share, in replicas."""
    total, rows = shared(draw, size)
    model = _solver()
    far = model.addVariable(lb=0)
    held = []
    for row in rows:
        count = model.addIntegral(lb=0, ub=row.requested["cpu"] // 1000)
        # The fair share as it is shown is cut to whole thousandths; that is far below what matters here.
        fair = row.fair["cpu"] / 1000
        model.addConstr(far >= count - fair)
        model.addConstr(far >= fair - count)
        held.append(count)
    model.addConstr(model.qsum(held) == total)
    ours = max((abs(row.allocated["cpu"] - row.fair["cpu"]) / 1000 for row in rows), default=0.0)
    return Result(ours, _best(model, far)) if rows else Result(0, 0)


def shared(draw: Random, size: int) -> tuple[int, tuple[NamespaceRow, ...]]:
    """Namespaces with weights that ask for replicas of one core, and the cores there are for them."""
    asks = [draw.randint(0, 30) for _ in range(size)]
    weights = [draw.randint(1, 5) for _ in range(size)]
    total = draw.randint(1, max(1, sum(asks)))
    problem = strict(
        {
            "total": {"cpu": total},
            "namespaces": [{"name": f"ns{row}", "weight": weight} for row, weight in enumerate(weights)],
            "jobs": [
                {"name": f"j{row}", "namespace": f"ns{row}", "replicas": ask, "request": {"cpu": 1}}
                for row, ask in enumerate(asks)
                if ask
            ],
        },
        share.PROBLEM,
    )
    return min(total, sum(asks)), tuple(share.solve(problem).namespaces)


def _storage(draw: Random, size: int, replicas: int) -> Result:
    """(max − min) of what is usable on the nodes once the replicas of a volume stand on different ones."""
    usable = [draw.randint(0, 400) for _ in range(size)]
    wanted = draw.randint(5, 60)
    fitting = [row for row, left in enumerate(usable) if left >= wanted]
    if len(fitting) < replicas:
        return Result(0, 0)
    problem = strict(
        {
            "size": wanted,
            "replicas": replicas,
            "nodes": [
                {"name": f"n{row}", "disks": [{"name": "d", "usable": left, "total": 1000}]}
                for row, left in enumerate(usable)
            ],
        },
        balance.PROBLEM,
    )
    decision = balance.solve(problem)
    assert isinstance(decision, Balance)
    after = list(usable)
    for each in decision.placed:
        after[int(each.node.removeprefix("n"))] -= wanted
    model = _solver()
    most, least = model.addVariable(lb=0), model.addVariable(lb=0)
    chosen = {row: model.addBinary() for row in fitting}
    model.addConstr(model.qsum(chosen.values()) == replicas)
    for row in fitting:
        model.addConstr(most >= usable[row] - wanted * chosen[row])
        model.addConstr(least <= usable[row] - wanted * chosen[row])
    # The first replica's candidates are those that fit it; the others of its node are compared among the same.
    ours = max(after[row] for row in fitting) - min(after[row] for row in fitting)
    return Result(ours, _best(model, most - least))


def disk_one(draw: Random, size: int) -> Result:
    """One storage replica: the choice of the best node."""
    return _storage(draw, size, 1)


def disk_three(draw: Random, size: int) -> Result:
    """Three storage replicas of a volume, chosen one after the other, against the best three at once."""
    return _storage(draw, size, 3)


CLAIMED: dict[str, Instance] = {
    "node, communism: sum of squared totals": communism,
    "node, global-greedy: highest use of nodes that took some": global_greedy,
    "fleet, sticky most: replicas that move": fleet,
    "tier: replicas that must be on demand": tier,
    "disk, one replica: max − min of the nodes": disk_one,
}
"""Levels that claim the optimum."""

REPORTED: dict[str, Instance] = {
    "queue: farthest namespace from its fluid share": queue,
    "disk, three replicas in turn: max − min of the nodes": disk_three,
}
"""Levels that claim less, and are measured all the same."""


def gaps(instance: Instance, size: int, count: int) -> list[float]:
    """The gaps of `count` random instances of this size."""
    draw = Random(f"{size}/{count}")
    return [instance(draw, size).gap for _ in range(count)]


def run(report: Report) -> None:
    """One row a level and size."""
    rows = []
    for claims, instances in (("0", CLAIMED), ("–", REPORTED)):
        for name, instance in instances.items():
            for words, (size, count) in SIZES.items():
                found = gaps(instance, size, count)
                optimal = sum(not gap for gap in found)
                rows.append(
                    [
                        name,
                        f"{words}, {size}",
                        f"{optimal}/{count}",
                        f"{sum(found) / count * 100:.2f} %",
                        f"{max(found) * 100:.2f} %",
                        claims,
                    ]
                )
    report.table(
        "Distance from the optimum of an exact solver",
        ["level and measure", "targets", "optimal", "mean gap", "largest gap", "claimed"],
        rows,
    )
