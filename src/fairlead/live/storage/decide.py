"""Objects to an outlook: where each waiting replica goes or why nowhere, and the moves worth making. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from fairlead.dataclass import dataclass
from fairlead.kube.codec.longhorn import StorageManifests, storage
from fairlead.kube.objects.longhorn import LonghornReplica
from fairlead.levels.disk.balance import Balance, Charge, Placed, VolumeOutcome, balance
from fairlead.levels.disk.filters import refusals
from fairlead.levels.disk.rebalance import Goal, Rebalance, rebalance
from fairlead.live.storage import messages
from fairlead.live.storage.cache import ReplicaPlacement, Seen
from fairlead.model.storage import StorageVolume


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRules:
    """How a disk is chosen beyond Longhorn's settings, and what advice on moves aims at and may cost."""

    alpha: Fraction = Fraction(1)
    by_maximum: bool = False
    target: Fraction = Fraction(1, 5)
    moves: int = 5
    move_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """A volume that lacks replicas: how many have no disk and why. `theme` changes when the reason does, not with
    every byte."""

    volume: str
    outcome: VolumeOutcome
    theme: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What becomes of the replicas that wait. `made` are Replicas there are, `unmade` those that volumes still lack."""

    storage: StorageManifests
    made: Balance
    unmade: Balance
    placements: tuple[ReplicaPlacement, ...]
    short: tuple[Short, ...]
    foreign: Mapping[str, str]
    awaiting: bool

    @property
    def unscheduled(self) -> int:
        """Storage replicas that have no disk and get none."""
        return self.made.unplaced + self.unmade.unplaced


def outlook(seen: Seen, rules: StorageRules, now: float) -> Outlook:
    """The objects as an outlook. `now` in seconds since 1970.

    Replicas that exist come first; for those that a volume lacks and that are not made yet, advice is given on top.
    """
    stored = _stored(seen, rules, now)
    asked = [each for each in stored.volumes if each.replicas]
    named = [replace(each, replicas=len(each.waiting)) for each in asked if each.waiting]
    made = balance(named, stored.disks, stored.policy)
    charges = [
        Charge(node=each.node, disk=each.disk, size_bytes=size) for each, size in _sizes(made.placed, stored.volumes)
    ]
    unmade = balance([each for each in asked if not each.waiting], stored.disks, stored.policy, pending=charges)
    outcomes = (*made.outcomes, *unmade.outcomes)
    return Outlook(
        storage=stored,
        made=made,
        unmade=unmade,
        placements=_placements(stored, made, seen.replicas),
        short=tuple(_short(each, stored) for each in outcomes if each.finding is not None),
        foreign=stored.foreign,
        awaiting=any(each.awaits_reuse for each in asked),
    )


def advise(seen: Seen, rules: StorageRules, now: float) -> Rebalance:
    """The moves worth making within the budget."""
    stored = _stored(seen, rules, now)
    goal = Goal(target=rules.target, moves=rules.moves, bytes=rules.move_bytes)
    return rebalance(stored.volumes, stored.disks, stored.policy, goal)


def fits(placement: ReplicaPlacement, around: Seen, rules: StorageRules, now: float) -> bool:
    """Whether a placement that was decided earlier is still one that may be made.

    `around` has its node and disk as they are now; they must be the same disk, open to the replica and with room.
    """
    stored = _stored(around, rules, now)
    place = f"{placement.node}/{placement.disk}"
    volume = next((each for each in stored.volumes if each.waiting), None)
    row = stored.disks.row(placement.node, placement.disk)
    if volume is None or row is None or stored.uuids.get(place) != placement.uuid:
        return False
    return not refusals(volume, stored.disks, stored.policy)[row] and stored.paths[place] == placement.path


def _stored(seen: Seen, rules: StorageRules, now: float) -> StorageManifests:
    stored = storage(seen.nodes, seen.volumes, seen.replicas, seen.settings, now=now, by_maximum=rules.by_maximum)
    return replace(stored, policy=replace(stored.policy, alpha=rules.alpha))


def _sizes(placed: Sequence[Placed], volumes: Sequence[StorageVolume]) -> list[tuple[Placed, int]]:
    sizes = {each.name: each.size_bytes for each in volumes}
    return [(each, sizes[each.volume]) for each in placed if not each.reuses]


def _placements(
    stored: StorageManifests, made: Balance, replicas: Sequence[LonghornReplica]
) -> tuple[ReplicaPlacement, ...]:
    by_name = {each.metadata.name: each for each in replicas}
    found = []
    for each in made.placed:
        place = f"{each.node}/{each.disk}"
        found.append(
            ReplicaPlacement(
                replica=by_name[each.replica],
                node=each.node,
                disk=each.disk,
                uuid=stored.uuids[place],
                path=stored.paths[place],
            )
        )
    return tuple(found)


def _short(outcome: VolumeOutcome, stored: StorageManifests) -> Short:
    theme, note = messages.refused(outcome, stored.disks)
    return Short(volume=outcome.volume.name, outcome=outcome, theme=theme, note=note)
