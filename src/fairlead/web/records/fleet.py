"""The fleet: workloads by clusters, with floors, the residual and who drew it, and what moves."""

from collections.abc import Mapping
from typing import Any

from fairlead.engine.plan import Divided, Plan
from fairlead.engine.record import divided_record
from fairlead.model.division import DivisionAsk, PriorDivision
from fairlead.model.snapshot import Snapshot


def fleet_record(view: Snapshot, decided: Plan) -> dict[str, Any]:
    """Every workload that the fleet divides, with each cluster's weight and count before and after."""
    asks = {workload.key: ask for workload, ask in view.divided}
    rows = [_row(each, asks[each.workload.key]) for each in decided.divided]
    clusters = dict.fromkeys(name for row in rows for name in row["clusters"])
    return {"clusters": list(clusters), "workloads": rows}


def _row(each: Divided, ask: DivisionAsk) -> dict[str, Any]:
    division, prior = each.division, ask.prior
    counts = prior.counts if prior else {}
    rows = {name: row for row, name in enumerate(ask.clusters.names)}
    return {
        "key": each.workload.key,
        **divided_record(each),
        "residual": division.residual,
        "prior": _prior(prior),
        "moves": _moves(counts, division.placements) if prior else 0,
        "clusters": {
            name: {
                "replicas": count,
                "before": counts.get(name, 0),
                "floor": division.floors.get(name),
                "weight": int(ask.clusters.weights[rows[name]]) if name in rows else None,
                "removed": division.removed[name].code if name in division.removed else None,
            }
            for name, count in division.placements.items()
        },
    }


def _prior(prior: PriorDivision | None) -> dict[str, Any] | None:
    return {"mode": prior.mode.value, "replicas": prior.replicas, "counts": dict(prior.counts)} if prior else None


def _moves(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """Replicas that leave a cluster while others come to another."""
    names = {*before, *after}
    gone = sum(max(before.get(name, 0) - after.get(name, 0), 0) for name in names)
    come = sum(max(after.get(name, 0) - before.get(name, 0), 0) for name in names)
    return min(gone, come)
