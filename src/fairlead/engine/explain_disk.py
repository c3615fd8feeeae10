"""A decision of the disk level as sentences: every candidate with its score or its reason, before and after."""

from collections.abc import Iterator

import numpy as np

from fairlead.levels.disk.balance import Balance, VolumeOutcome
from fairlead.levels.disk.choose import Choice
from fairlead.levels.disk.reasons import REASONS_OF_A_DISK
from fairlead.levels.disk.rebalance import Rebalance
from fairlead.model.amounts import bytes_text
from fairlead.model.balancing import DiskRule
from fairlead.model.columns import Int
from fairlead.model.reasons import Cure

MOST = 40
"""Nodes, disks, volumes or replicas told one by one."""

_CURES = {
    Cure.ROOM: "more room, or one more node or disk, would change it",
    Cure.EVICTION: "moving something away would change it",
    Cure.EDIT: "a change of the volume, the disk, the node or a setting would change it",
    Cure.NOTHING: "nothing needs to change",
}


def lines(decision: Balance | Rebalance) -> tuple[str, ...]:
    """The whole in one line, then each replica or move, then what was scored and what was refused."""
    if isinstance(decision, Rebalance):
        return tuple(_advice(decision))
    return (*_whole(decision), *_first(decision), *_refused(decision), *_notes(decision))


def _whole(decision: Balance) -> Iterator[str]:
    asked = sum(outcome.volume.replicas for outcome in decision.outcomes)
    alpha = decision.policy.alpha
    measure = "usable space" if alpha == 1 else f"a mix of usable space ({alpha}) and usable share ({1 - alpha})"
    what = "storage replica" if asked == 1 else "storage replicas"
    aim = f"so that {measure} stays even, nodes first"
    if decision.policy.rule is DiskRule.MOST_FREE:
        aim = "by the older rule, each on the disk with most available − reserved"
    yield f"{len(decision.placed)} of {asked} {what} placed {aim}."
    for each in decision.placed[:MOST]:
        before, after = (bytes_text(int(column[each.row])) for column in _columns(decision))
        name = each.replica or (f"A replica of {each.volume}" if each.volume else "A replica")
        if each.reuses:
            yield f"{each.reuses} failed but may serve again on {each.node}/{each.disk}, so no new replica is made."
        else:
            yield f"{name} goes to {each.node}/{each.disk} (usable {before} before, {after} in the end)."
    if len(decision.placed) > MOST:
        yield f"… and {len(decision.placed) - MOST} more."


def _columns(decision: Balance) -> tuple[Int, Int]:
    return decision.usable_before_bytes, decision.usable_after_bytes


def _first(decision: Balance) -> Iterator[str]:
    """The scores of the first replica: lower is more even."""
    choice, disks = decision.first, decision.disks
    if choice is None:
        return
    yield "Imbalance after the first replica, if it went there (lower is better):"
    yield from _scores("node", [disks.nodes[row] for row in choice.node_rows.tolist()], choice, nodes=True)
    yield from _scores("disk", [disks.place(row) for row in choice.disk_rows.tolist()], choice, nodes=False)
    yield from _kept_back(decision, choice)


def _kept_back(decision: Balance, choice: Choice) -> Iterator[str]:
    """Disks that could take the first replica but share more with another replica of the volume than need be."""
    disks, inside = decision.disks, set(choice.node_rows.tolist())
    rows = [
        row for row in np.flatnonzero(decision.outcomes[0].codes == 0).tolist() if int(disks.node_of[row]) not in inside
    ]
    for row in rows[:MOST]:
        yield f"  {disks.place(row)} kept back: it shares a zone or node with another replica (soft anti-affinity)."


def _scores(what: str, names: list[str], choice: Choice, *, nodes: bool) -> Iterator[str]:
    field = choice.node_field if nodes else choice.disk_field
    rows, chosen = (choice.node_rows, choice.node) if nodes else (choice.disk_rows, choice.disk)
    scores = field.decimals()
    order = sorted(range(len(names)), key=lambda row: (int(rows[row]) != chosen, scores[row], row))
    for row in order[:MOST]:
        before, after = int(field.usable[row]), int(field.usable[row]) - field.size
        mark = ", chosen" if int(rows[row]) == chosen else ""
        if mark and sum(score == scores[row] for score in scores) > 1:
            mark += " (equal scores: least variance, then most usable left, then name)"
        yield f"  {what} {names[row]}: {scores[row]:.4f}, usable {bytes_text(before)} → {bytes_text(after)}{mark}."
    if len(names) > MOST:
        yield f"  … and {len(names) - MOST} more."


def _refused(decision: Balance) -> Iterator[str]:
    for outcome in decision.outcomes[:MOST]:
        if outcome.finding or len(decision.outcomes) == 1:
            yield from _refused_to(outcome, decision)


def _refused_to(outcome: VolumeOutcome, decision: Balance) -> Iterator[str]:
    title = outcome.volume.name or "the volume"
    if outcome.finding:
        cure = _CURES[outcome.finding.reason.cure]
        yield f"{title}: {outcome.unplaced} unplaced, {outcome.finding.code}: {outcome.finding.sentence}; {cure}."
    refused = np.flatnonzero(outcome.codes).tolist()
    for row in refused[:MOST]:
        reason = REASONS_OF_A_DISK[int(outcome.codes[row]) - 1]
        yield f"  {decision.disks.place(row)} not: {reason.sentence} ({reason.code}; {_CURES[reason.cure]})."
    if len(refused) > MOST:
        yield f"  … and {len(refused) - MOST} more."


def _notes(decision: Balance | Rebalance) -> Iterator[str]:
    for note in decision.trace.notes:
        yield f"{note[0].upper()}{note[1:]}."


def _advice(decision: Rebalance) -> Iterator[str]:
    moved = bytes_text(sum(move.size_bytes for move in decision.moves))
    nodes = f"{float(decision.before[0]):.3f} → {float(decision.after[0]):.3f}"
    inside = f"{float(decision.before[1]):.3f} → {float(decision.after[1]):.3f}"
    count = "1 move" if len(decision.moves) == 1 else f"{len(decision.moves)} moves"
    yield f"{count}, {moved} to copy: imbalance of the nodes {nodes}, of disks in a node {inside}."
    purposes = {
        "empty": "empties the disk",
        "nodes": "evens out the nodes",
        "disks": "evens out the disks of the node",
    }
    for move in decision.moves:
        way = f"from {decision.disks.place(move.source)} to {decision.disks.place(move.target)}"
        score = f"{float(move.before):.3f} → {float(move.after):.3f}"
        yield f"  {move.replica} ({bytes_text(move.size_bytes)}) {way}: {purposes[move.stage]}, {score}."
    if decision.finding:
        cure = _CURES[decision.finding.reason.cure]
        yield f"{decision.finding.code}: {decision.finding.sentence}; {cure}."
    yield from _notes(decision)
