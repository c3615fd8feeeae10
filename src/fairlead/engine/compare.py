"""Two plans side by side, as records: what moved, what was gained and lost. Works on the JSON of `fairlead plan`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fairlead.engine.plan import Plan
from fairlead.engine.record import plan_record

Record = Mapping[str, Any]


def beside(now: Plan, then: Plan) -> dict[str, Any]:
    """A changed plan beside the present one: the differences, and under `plan` the changed plan itself."""
    after = plan_record(then)
    return {**compare(plan_record(now), after), "plan": after}


def compare(before: Record, after: Record) -> dict[str, Any]:
    """The differences from one plan to another. Workloads that stay as they are are not listed.

    `fleet` is there where replicas are divided over clusters in another way.
    """
    first, second = _workloads(before), _workloads(after)
    rows = [
        _row(key, first.get(key), second.get(key))
        for key in sorted({*first, *second})
        if first.get(key) != second.get(key)
    ]
    divided = _divided(before, after)
    return {
        **({"fleet": divided} if divided else {}),
        "workloads": rows,
        "moves": sum(row["moves"] for row in rows),
        "unplaced": {"before": before["unplaced"], "after": after["unplaced"]},
        "sites": [_site(name, _sites(before).get(name), _sites(after).get(name)) for name in _names(before, after)],
    }


def _divided(before: Record, after: Record) -> list[dict[str, Any]]:
    """Workloads of which clusters get other numbers: these clusters, with the numbers."""
    old, new = (
        {(each["kind"], each["workload"]): each["placements"] for each in plan.get("fleet", ())}
        for plan in (before, after)
    )
    rows = []
    for kind, workload in sorted({*old, *new}):
        first, second = old.get((kind, workload), {}), new.get((kind, workload), {})
        changed = [name for name in sorted({*first, *second}) if first.get(name, 0) != second.get(name, 0)]
        if changed:
            clusters = {name: {"before": first.get(name, 0), "after": second.get(name, 0)} for name in changed}
            rows.append({"kind": kind, "workload": workload, "clusters": clusters})
    return rows


def _names(before: Record, after: Record) -> list[str]:
    return sorted({*_sites(before), *_sites(after)})


def _sites(plan: Record) -> dict[str, Record]:
    return {site["cluster"]: site for site in plan["sites"]}


def _site(name: str, before: Record | None, after: Record | None) -> dict[str, Any]:
    """Nodes and their use once the plan is carried out."""
    return {
        "cluster": name,
        "nodes": {"before": before["nodes"] if before else 0, "after": after["nodes"] if after else 0},
        "openNodes": {"before": _open(before), "after": _open(after)},
        "use": {
            "before": before["use"]["after"] if before else None,
            "after": after["use"]["after"] if after else None,
        },
        "evenness": {"before": _evenness(before), "after": _evenness(after)},
    }


def _evenness(site: Record | None) -> float | None:
    """Jain's index of the nodes' use; None where the plan was saved without."""
    return site["evenness"]["after"] if site and "evenness" in site else None


def _open(site: Record | None) -> int:
    """Nodes that take replicas; a plan that was saved before this was counted has none that do not."""
    return site.get("openNodes", site["nodes"]) if site else 0


def _workloads(plan: Record) -> dict[tuple[str, str, str], dict[str, Any]]:
    """(cluster, kind, workload) → replicas per node once the plan is carried out, and how many wait."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for site in plan["sites"]:
        for each in site["workloads"]:
            spots: Counter[str] = Counter(each["runs"])
            for part in each["parts"]:
                spots.update(part["placements"])
            found[site["cluster"], each["kind"], each["workload"]] = {"spots": dict(spots), "waits": each["unplaced"]}
    return found


def _row(key: tuple[str, str, str], before: Record | None, after: Record | None) -> dict[str, Any]:
    old: Counter[str] = Counter(before["spots"] if before else {})
    new: Counter[str] = Counter(after["spots"] if after else {})
    gone, come = old - new, new - old
    return {
        "cluster": key[0],
        "kind": key[1],
        "workload": key[2],
        "from": dict(sorted(gone.items())),
        "to": dict(sorted(come.items())),
        "moves": min(gone.total(), come.total()),
        "waits": {"before": before["waits"] if before else 0, "after": after["waits"] if after else 0},
    }
