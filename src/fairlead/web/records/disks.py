"""Disks: usable, scheduled and reserved space of each, where storage replicas go, and moves worth making."""

from fractions import Fraction
from typing import Any

from fairlead.engine.plan import Plan
from fairlead.engine.record import storage_record
from fairlead.engine.records_disk import imbalance_record, move_record
from fairlead.levels.disk.balance import Balance
from fairlead.levels.disk.rebalance import Goal, rebalance
from fairlead.model.disks import UNKNOWN, Closed, DiskTable
from fairlead.model.snapshot import Site, Snapshot

TARGET = Fraction(1, 10)
"""Moves are worth making until the imbalance, (max − min) / mean, is this low."""
MOST_MOVES = 20
MOST_DISKS = 2000
"""Beyond so many disks moves are not looked for while a page waits."""


def disks_record(view: Snapshot, decided: Plan) -> dict[str, Any]:
    """The clusters that have disks."""
    return {
        "sites": [
            _site(site, site.disks, decided.storage.get(site.name))
            for site in view.sites
            if site.disks is not None and len(site.disks)
        ]
    }


def _site(site: Site, disks: DiskTable, decision: Balance | None) -> dict[str, Any]:
    after = decision.usable_after_bytes if decision else disks.usable_bytes
    return {
        "cluster": site.name,
        "disks": [_disk(disks, row, int(after[row])) for row in range(len(disks))],
        "volumes": len(site.volumes),
        **(storage_record(decision) if decision else {"placements": [], "unplaced": 0, "findings": []}),
        "scores": _scores(decision) if decision else None,
        **_moves(site, disks),
    }


def _disk(disks: DiskTable, row: int, after: int) -> dict[str, Any]:
    node = int(disks.node_of[row])
    closed = Closed(int(disks.closed[row]))
    maximum = int(disks.maximum_bytes[row])
    return {
        "node": disks.nodes[node],
        "disk": disks.names[row],
        "zone": disks.zones[node],
        "maximum": None if maximum == UNKNOWN else maximum,
        "total": int(disks.total_bytes[row]),
        "reserved": int(disks.reserved_bytes[row]),
        "scheduled": int(disks.scheduled_bytes[row]),
        "usable": int(disks.usable_bytes[row]),
        "usableAfter": after,
        "closed": None if closed is Closed.OPEN else closed.name.lower().replace("_", " "),
    }


def _scores(decision: Balance) -> dict[str, Any] | None:
    """What the first storage replica was compared by: the imbalance with it on each node, then on each disk."""
    choice = decision.first
    if choice is None:
        return None
    names = decision.disks.nodes
    return {
        "volume": decision.outcomes[0].volume.name,
        "nodes": dict(
            zip((names[row] for row in choice.node_rows.tolist()), choice.node_field.decimals(), strict=True)
        ),
        "disks": dict(
            zip(
                (decision.disks.place(row) for row in choice.disk_rows.tolist()),
                choice.disk_field.decimals(),
                strict=True,
            )
        ),
        "chosen": decision.disks.place(choice.disk),
    }


def _moves(site: Site, disks: DiskTable) -> dict[str, Any]:
    if len(disks) > MOST_DISKS or not any(volume.held for volume in site.volumes):
        return {"moves": [], "imbalance": None}
    advice = rebalance(site.volumes, disks, site.storage, Goal(target=TARGET, moves=MOST_MOVES))
    return {"moves": [move_record(each, disks) for each in advice.moves], "imbalance": imbalance_record(advice)}
