"""The verb of the disk level: which node and which disk gets each storage replica."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.disk import reasons as why
from fairlead.levels.disk.bulk import Kind, Shelf, kind
from fairlead.levels.disk.choose import Choice, choose
from fairlead.levels.disk.filters import Uses, apart, room, static_codes, uses_of
from fairlead.levels.disk.grouped import GroupShelf
from fairlead.levels.disk.ledger import DiskLedger
from fairlead.model.balancing import BalancePolicy, DiskRule
from fairlead.model.columns import Codes, Int, frozen
from fairlead.model.decision import Decision, Rejection, Score, Trace
from fairlead.model.disks import Closed, DiskTable
from fairlead.model.order import natural_key
from fairlead.model.reasons import Finding, because
from fairlead.model.storage import AntiAffinity, Locality, StorageVolume

TRACED = 32
"""Replicas whose scores the trace keeps; a burst of thousands would drown it. Later ones are chosen from heaps."""

MOST_SHELVES = 8
"""Kinds of volumes that have heaps at a time; each costs a step at every placement."""

WORTHWHILE = 100
"""Replicas of one kind and size from which on grouping the nodes by total pays, at an alpha below 1."""

Taker = Callable[[Uses, AntiAffinity], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Bytes promised to a disk by a placement that its status does not show yet."""

    node: str
    disk: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One storage replica and the table row of its disk. `replica` is its name, where the volume gave one; `reuses`
    names the failed replica that serves again instead of a new one."""

    volume: str
    row: int
    node: str
    disk: str
    replica: str = ""
    reuses: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeOutcome:
    """What became of one volume: replicas left out and why, and for each disk the reason it was refused (0: none)."""

    volume: StorageVolume
    unplaced: int
    finding: Finding | None
    codes: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance(Decision):
    """The decision with its columns. `first` is the choice of the first new replica; `usable_*_bytes` by disk row."""

    disks: DiskTable
    policy: BalancePolicy
    placed: tuple[Placed, ...]
    outcomes: tuple[VolumeOutcome, ...]
    first: Choice | None
    usable_before_bytes: Int
    usable_after_bytes: Int


def balance(
    volumes: Sequence[StorageVolume], disks: DiskTable, policy: BalancePolicy, *, pending: Sequence[Charge] = ()
) -> Balance:
    """Place every replica that the volumes ask for, larger volumes first, then by name, each as if it were alone.

    `pending` placements are charged before. Every placement is charged for the next one. The result does not depend
    on the order of volumes, disks or pending placements.
    """
    ledger = DiskLedger(disks, policy)
    lost = _charge_pending(ledger, disks, pending)
    before = frozen(ledger.usable.copy()) if pending else disks.usable_bytes
    run = _Run(disks, policy, ledger)
    if policy.alpha < 1:
        run.count_burst(volumes)
    for volume in sorted(volumes, key=lambda each: (-each.size_bytes, natural_key(each.name))):
        run.place(volume)
    unplaced = sum(outcome.unplaced for outcome in run.outcomes)
    return Balance(
        placements=MappingProxyType(dict(Counter(f"{each.node}/{each.disk}" for each in run.placed))),
        unplaced=unplaced,
        finding=_finding(run.outcomes, unplaced),
        trace=_trace(run, lost),
        disks=disks,
        policy=policy,
        placed=tuple(run.placed),
        outcomes=tuple(run.outcomes),
        first=run.first,
        usable_before_bytes=before,
        usable_after_bytes=frozen(ledger.usable),
    )


@dataclass(slots=True)
class _Ask:
    """One volume while its replicas are placed: the filters that stay, and where its replicas are so far."""

    volume: StorageVolume
    rule: AntiAffinity
    key: Kind | None
    static: Codes
    uses: Uses
    codes: Codes


class _Run:
    """The state of one call."""

    def __init__(self, disks: DiskTable, policy: BalancePolicy, ledger: DiskLedger) -> None:
        self.disks, self.policy, self.ledger = disks, policy, ledger
        self.placed: list[Placed] = []
        self.outcomes: list[VolumeOutcome] = []
        self.first: Choice | None = None
        self.scores: list[Score] = []
        self.burst: Counter[tuple[Kind, int]] = Counter()
        self._plain = policy.alpha == 1
        self._static: dict[Kind, Codes] = {}
        self._shelves: dict[Kind, Shelf] = {}
        self._grouped: dict[tuple[Kind, int], GroupShelf] = {}

    def count_burst(self, volumes: Sequence[StorageVolume]) -> None:
        """How many replicas of each kind and size there are to place."""
        for volume in volumes:
            key = kind(volume, volume.anti_affinity or self.policy.anti_affinity)
            if key is not None:
                self.burst[key, volume.size_bytes] += volume.replicas

    def place(self, volume: StorageVolume) -> None:
        """All replicas of one volume: failed ones that can serve again first, then new ones one by one."""
        need = new = volume.replicas - self._reuse(volume)
        if need and volume.awaits_reuse and any(held.failed and held.reusable for held in volume.held):
            awaiting = because(why.AWAITING_REUSE, volume=volume.name)
            self.outcomes.append(VolumeOutcome(volume=volume, unplaced=need, finding=awaiting, codes=self.disks.closed))
            return
        ask = self._ask(volume)
        while need:
            disk = self._next(ask)
            if disk is None:
                break
            self._take(volume, disk, new - need)
            ask.uses.add(self.disks, int(self.disks.node_of[disk]), disk)
            need -= 1
        finding = _no_disk(volume, need, ask.codes) if need else None
        self.outcomes.append(VolumeOutcome(volume=volume, unplaced=need, finding=finding, codes=ask.codes))

    def _ask(self, volume: StorageVolume) -> _Ask:
        rule = volume.anti_affinity or self.policy.anti_affinity
        key = kind(volume, rule)
        static = self._static_codes(volume, key)
        return _Ask(volume, rule, key, static, self._uses(volume), static)

    def _next(self, ask: _Ask) -> int | None:
        """The disk for the next replica, or None; `ask.codes` are then the reasons, else those of the first choice."""
        volume = ask.volume
        taker = self._taker(volume, ask.key, ask.static)
        if taker is not None:
            disk = taker(ask.uses, ask.rule)
            if disk is not None:
                return disk
        parted, classes = apart(ask.static, ask.uses, self.disks, ask.rule)
        codes = room(parted, volume.size_bytes, self.ledger)
        choice = self._choose(volume, codes, classes, ask.uses) if taker is None else None
        if choice is None or ask.codes is ask.static:
            ask.codes = codes
        if choice is None:
            return None
        self._note(volume, choice)
        return choice.disk

    def _static_codes(self, volume: StorageVolume, key: Kind | None) -> Codes:
        if key is None:
            return static_codes(volume, self.disks, self.policy)
        if key not in self._static:
            self._static[key] = frozen(static_codes(volume, self.disks, self.policy))
        return self._static[key]

    def _taker(self, volume: StorageVolume, key: Kind | None, static: Codes) -> Taker | None:
        """A quick way to choose for this kind of volume, once a burst has begun; None: one by one, with scores."""
        if key is None or self.policy.rule is not DiskRule.BALANCE or len(self.scores) < TRACED:
            return None
        if self._plain:
            if key not in self._shelves and len(self._shelves) < MOST_SHELVES:
                self._shelves[key] = Shelf(static, self.disks, self.ledger, by_zone=key[-1])
            shelf = self._shelves.get(key)
            return partial(shelf.take, volume.size_bytes) if shelf else None
        whole = (key, volume.size_bytes)
        if self.burst[whole] < WORTHWHILE or key[-2] or key[-1] or self.policy.everywhere:
            return None
        if whole not in self._grouped:
            # Volumes go by falling size, so a shelf for another size has served its time.
            self._grouped = {each: shelf for each, shelf in self._grouped.items() if each[1] == volume.size_bytes}
            if len(self._grouped) == MOST_SHELVES:
                return None
            self._grouped[whole] = GroupShelf(static, self.disks, self.ledger, self.policy.alpha, volume.size_bytes)
        return self._grouped[whole].take

    def _choose(self, volume: StorageVolume, codes: Codes, classes: Codes | None, uses: Uses) -> Choice | None:
        """The choice, on the attached node first where locality prefers it and no replica is there yet."""
        if volume.locality is Locality.PREFER:
            node = self.disks.node_rows.get(volume.attached_to)
            if node is not None and not uses.nodes.get(node):
                away = self.disks.node_of != node
                local = np.where((codes == 0) & away, why.NUMBER[why.NOT_LOCAL], codes).astype(np.uint8)
                if (local == 0).any():
                    codes = local
        return choose(codes, classes, self.disks, self.ledger, self.policy, volume.size_bytes)

    def _note(self, volume: StorageVolume, choice: Choice) -> None:
        self.first = self.first or choice
        if len(self.scores) < TRACED:
            self.scores.append(_winner(volume, choice, self.disks))

    def _take(self, volume: StorageVolume, disk: int, number: int) -> None:
        self.ledger.charge(disk, volume.size_bytes)
        for shelf in self._shelves.values():
            shelf.fell(disk)
        for grouped in self._grouped.values():
            grouped.fell(disk)
        self._record(volume, disk, volume.waiting[number] if number < len(volume.waiting) else "")

    def _record(self, volume: StorageVolume, row: int, replica: str = "", reuses: str = "") -> None:
        node, disk = self.disks.nodes[int(self.disks.node_of[row])], self.disks.names[row]
        self.placed.append(Placed(volume=volume.name, row=row, node=node, disk=disk, replica=replica, reuses=reuses))

    def _reuse(self, volume: StorageVolume) -> int:
        """How many failed replicas serve again: those whose disk is there and open. Their space is charged already.

        Replicas that wait under a name exist already, so none of them is replaced in this way.
        """
        reused, most = 0, volume.replicas - len(volume.waiting)
        for held in sorted(volume.held, key=lambda each: natural_key(each.name)):
            row = self.disks.row(held.node, held.disk)
            if reused == most or not (held.failed and held.reusable) or row is None:
                continue
            if self.disks.closed[row] == Closed.OPEN:
                self._record(volume, row, reuses=held.name)
                reused += 1
        return reused

    def _uses(self, volume: StorageVolume) -> Uses:
        """Where the volume's replicas are: those that work, and those that serve again from now on."""
        if not volume.held:
            return Uses()
        again = {each.reuses for each in self.placed if each.volume == volume.name}
        return uses_of(volume, self.disks, again)


def _charge_pending(ledger: DiskLedger, disks: DiskTable, pending: Sequence[Charge]) -> list[str]:
    """Charge what is on its way; returns the places that are not there any more."""
    lost = []
    for charge in pending:
        row = disks.row(charge.node, charge.disk)
        if row is None:
            lost.append(f"{charge.node}/{charge.disk}")
        else:
            ledger.charge(row, charge.size_bytes)
    return lost


def _winner(volume: StorageVolume, choice: Choice, disks: DiskTable) -> Score:
    node = int(np.searchsorted(choice.node_rows, choice.node))
    disk = int(np.searchsorted(choice.disk_rows, choice.disk))
    terms = {"node": choice.node_field.text(node), "disk": choice.disk_field.text(disk)}
    return Score(target=disks.place(choice.disk), terms={**({"volume": volume.name} if volume.name else {}), **terms})


def _no_disk(volume: StorageVolume, unplaced: int, codes: Codes) -> Finding:
    if not len(codes):
        return because(why.NO_DISKS)
    return because(why.NO_DISK, unplaced=unplaced, asked=volume.replicas, why=_histogram(codes))


def _histogram(codes: Codes) -> str:
    counts = np.bincount(codes, minlength=1)
    parts = [f"{counts[code]} {why.REASONS_OF_A_DISK[code - 1].code}" for code in np.flatnonzero(counts) if code]
    return ", ".join(parts)


def _finding(outcomes: Sequence[VolumeOutcome], unplaced: int) -> Finding | None:
    """The finding of the only volume that has one; of several, the counts of all."""
    findings = [outcome.finding for outcome in outcomes if outcome.finding]
    if len(findings) < 2:
        return findings[0] if findings else None
    codes = np.concatenate([outcome.codes for outcome in outcomes if outcome.finding])
    return because(
        why.NO_DISK,
        unplaced=unplaced,
        asked=sum(outcome.volume.replicas for outcome in outcomes),
        why=f"{len(findings)} volumes, {_histogram(codes)}",
    )


def _trace(run: _Run, lost: Sequence[str]) -> Trace:
    rejected: list[Rejection] = []
    found = next((outcome for outcome in run.outcomes if outcome.finding), None)
    for outcome in [found] if found else run.outcomes[:1]:
        rows = np.flatnonzero(outcome.codes != 0)
        numbers = outcome.codes[rows]
        for number in np.flatnonzero(np.bincount(numbers)).tolist():
            own = rows[numbers == number]
            names = tuple(run.disks.place(int(row)) for row in own[:3])
            rejected.append(Rejection(reason=why.REASONS_OF_A_DISK[number - 1], count=len(own), names=names))
    gone = [
        f"{held.name} on {held.node}/{held.disk}"
        for outcome in run.outcomes
        for held in outcome.volume.held
        if held.disk and run.disks.row(held.node, held.disk) is None
    ]
    notes = [because(why.UNKNOWN_DISK, count=len(gone), names=", ".join(gone[:3])).sentence] if gone else []
    notes += [f"a pending placement names {place}, which is not there; it is not charged" for place in sorted(lost)]
    return Trace(considered=len(run.disks), rejected=tuple(rejected), scores=tuple(run.scores), notes=tuple(notes))
