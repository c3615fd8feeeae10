"""A decision of the disk level as records: placements, what is unplaced, moves, the imbalance around them."""

from typing import Any

from fairlead.levels.disk.balance import Placed, VolumeOutcome
from fairlead.levels.disk.rebalance import Move, Rebalance
from fairlead.model.amounts import bytes_text
from fairlead.model.disks import DiskTable


def placement_record(each: Placed, *, by_volume: bool) -> dict[str, str]:
    """Where one replica goes; with its volume where there are several."""
    return {
        **({"volume": each.volume} if by_volume else {}),
        **({"replica": each.replica} if each.replica else {}),
        "node": each.node,
        "disk": each.disk,
        **({"reuses": each.reuses} if each.reuses else {}),
    }


def outcome_record(outcome: VolumeOutcome) -> dict[str, Any]:
    """What one volume lacks, and why."""
    finding = outcome.finding
    return {
        "volume": outcome.volume.name,
        "unplaced": outcome.unplaced,
        **({"reason": finding.code, "message": finding.sentence, "cure": finding.reason.cure.value} if finding else {}),
    }


def move_record(move: Move, disks: DiskTable) -> dict[str, Any]:
    """One move, with the imbalance of its stage."""
    return {
        "volume": move.volume,
        "replica": move.replica,
        "size": bytes_text(move.size_bytes),
        "from": _spot(disks, move.source),
        "to": _spot(disks, move.target),
        "stage": move.stage,
        "imbalance": {"before": float(move.before), "after": float(move.after)},
    }


def imbalance_record(decision: Rebalance) -> dict[str, dict[str, float]]:
    """The imbalance of the nodes, and of the disks of the worst node, before and after the moves."""
    return {
        stage: {"before": float(before), "after": float(after)}
        for stage, before, after in zip(("nodes", "disks"), decision.before, decision.after, strict=True)
    }


def _spot(disks: DiskTable, row: int) -> dict[str, str]:
    return {"node": disks.nodes[int(disks.node_of[row])], "disk": disks.names[row]}
