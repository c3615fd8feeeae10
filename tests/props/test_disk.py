"""What must hold for every cluster: room, anti-affinity, independence of order, advice that only improves."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.disk.balance import balance
from fairlead.levels.disk.rebalance import Goal, Rebalance, rebalance
from fairlead.levels.disk.score import imbalance
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Closed, Disk, DiskTable, disk_table
from fairlead.model.storage import AntiAffinity, HeldReplica, StorageVolume

alphas = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(0)])
antis = st.sampled_from(["none", "disk", "node", "zone"])


@st.composite
def disks(draw: st.DrawFn) -> list[Disk]:
    """Disks of one to five nodes, some of them closed."""
    found = []
    for node in range(draw(st.integers(1, 5))):
        zone = draw(st.sampled_from(["", "x", "y"]))
        for disk in range(draw(st.integers(1, 3))):
            usable = draw(st.integers(0, 40))
            total = usable + draw(st.integers(1, 20))
            closed = draw(st.sampled_from([Closed.OPEN] * 4 + [Closed.DISK_NOT_READY]))
            found.append(
                Disk(node=f"n{node}", name=f"d{disk}", usable_bytes=usable, total_bytes=total, zone=zone, closed=closed)
            )
    return found


@st.composite
def asked(draw: st.DrawFn) -> list[StorageVolume]:
    """Up to four volumes."""
    sizes = draw(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 4)), min_size=1, max_size=4))
    return [StorageVolume(name=f"v{row}", size_bytes=size, replicas=many) for row, (size, many) in enumerate(sizes)]


@given(disks(), asked(), alphas, antis, st.booleans(), st.randoms(use_true_random=False))
def test_placements_keep_every_promise(found, volumes, alpha, anti, everywhere, random) -> None:  # type: ignore[no-untyped-def]
    """Nothing on a closed disk, never more than is usable, apart as asked, all replicas told of, order irrelevant."""
    policy = BalancePolicy(alpha=alpha, everywhere=everywhere, anti_affinity=AntiAffinity.of(anti))
    table = disk_table(found)
    decision = balance(volumes, table, policy)
    size = {volume.name: volume.size_bytes for volume in volumes}
    taken: Counter[int] = Counter()
    for each in decision.placed:
        taken[each.row] += size[each.volume]
        assert table.closed[each.row] == Closed.OPEN
    assert all(table.usable_bytes[row] >= used for row, used in taken.items())
    assert (decision.usable_after_bytes == [table.usable_bytes[row] - taken[row] for row in range(len(table))]).all()
    assert len(decision.placed) + decision.unplaced == sum(volume.replicas for volume in volumes)
    assert (decision.finding is None) == (decision.unplaced == 0)
    for volume in volumes:
        _apart(table, [each.row for each in decision.placed if each.volume == volume.name], anti)
    again = balance(random.sample(volumes, len(volumes)), disk_table(random.sample(found, len(found))), policy)
    assert again.placed == decision.placed


def _apart(table: DiskTable, rows: list[int], anti: str) -> None:
    nodes = [int(table.node_of[row]) for row in rows]
    zones = [table.zones[node] for node in nodes if table.zones[node]]
    if anti != "none":
        assert len(set(rows)) == len(rows)
    if anti in ("node", "zone"):
        assert len(set(nodes)) == len(nodes)
    if anti == "zone":
        assert len(set(zones)) == len(zones)


@st.composite
def stored(draw: st.DrawFn) -> tuple[list[Disk], list[StorageVolume]]:
    """A cluster with replicas on it: at most four nodes, six volumes of one or two replicas."""
    nodes = draw(st.integers(2, 4))
    volumes = []
    used: Counter[int] = Counter()
    for row in range(draw(st.integers(1, 6))):
        size = draw(st.integers(1, 8))
        homes = draw(st.lists(st.integers(0, nodes - 1), min_size=1, max_size=2, unique=True))
        for home in homes:
            used[home] += size
        held = tuple(HeldReplica(name=f"r{row}-{home}", node=f"n{home}", disk="d") for home in homes)
        healthy = draw(st.sampled_from([True, True, True, False]))
        volumes.append(StorageVolume(name=f"v{row}", size_bytes=size, replicas=0, held=held, healthy=healthy))
    found = [
        Disk(node=f"n{node}", name="d", usable_bytes=max(30 - used[node], 0), total_bytes=30 + 10 * (node % 2))
        for node in range(nodes)
    ]
    return found, volumes


@given(stored(), alphas, st.integers(0, 3), st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1, 2)]))
def test_advice_only_improves(scene, alpha, most, target) -> None:  # type: ignore[no-untyped-def]
    """Replayed move by move: room, replicas apart, healthy volumes only, the imbalance never rises and ends lower."""
    found, volumes = scene
    table = disk_table(found)
    decision = rebalance(volumes, table, BalancePolicy(alpha=alpha), Goal(target=target, moves=most))
    assert len(decision.moves) <= most
    seen = _replay(decision, volumes, alpha)
    assert all(after < before for before, after in pairwise(seen))
    assert all(after[0] <= before[0] for before, after in pairwise(seen))
    if decision.moves:
        assert seen[-1][0] < seen[-2][0] or seen[-1][0] <= target
    assert (decision.before[0], decision.after[0]) == (seen[0][0], seen[-1][0])


def _replay(decision: Rebalance, volumes: list[StorageVolume], alpha: Fraction) -> list[tuple[Fraction, Fraction]]:
    table = decision.disks
    usable = table.usable_bytes.copy()
    homes = {volume.name: Counter(held.node for held in volume.held) for volume in volumes}
    healthy = {volume.name for volume in volumes if volume.healthy}
    seen = [imbalance(usable, table.total_bytes, alpha)]
    for move in decision.moves:
        source, target = (table.nodes[int(table.node_of[row])] for row in (move.source, move.target))
        assert move.volume in healthy
        assert usable[move.target] >= move.size_bytes
        assert homes[move.volume][target] == 0
        homes[move.volume].update({source: -1, target: 1})
        usable[move.target] -= move.size_bytes
        usable[move.source] += move.size_bytes
        seen.append(imbalance(usable, table.total_bytes, alpha))
    return seen


@given(stored())
def test_advice_takes_the_fewest_moves_up_to_two(scene) -> None:  # type: ignore[no-untyped-def]
    """Where one or two moves, each of them an improvement, reach the target, the advice needs no more."""
    found, volumes = scene
    table, target = disk_table(found), Fraction(1, 5)
    decision = rebalance(volumes, table, BalancePolicy(), Goal(target=target))
    fewest = _fewest(table, volumes, target)
    if fewest is not None:
        assert decision.finding is None
        assert len(decision.moves) == fewest


def _fewest(table: DiskTable, volumes: list[StorageVolume], target: Fraction) -> int | None:
    """The least number of moves (0, 1 or 2) that reach the target, by trying all; None if more are needed."""
    homes = {volume.name: [table.nodes.index(held.node) for held in volume.held] for volume in volumes}
    options = [
        (volume.name, volume.size_bytes, number, node)
        for volume in volumes
        if volume.healthy
        for number in range(len(volume.held))
        for node in range(len(table.nodes))
    ]

    def after(moves: tuple[tuple[str, int, int, int], ...]) -> bool:
        usable = table.usable_bytes.copy()
        at = {name: list(rows) for name, rows in homes.items()}
        now = imbalance(usable, table.total_bytes, Fraction(1))
        for name, size, number, node in moves:
            if node in at[name] or usable[node] < size:
                return False
            usable[at[name][number]] += size
            usable[node] -= size
            at[name][number] = node
            step = imbalance(usable, table.total_bytes, Fraction(1))
            if step >= now:
                return False
            now = step
        return now[0] <= target

    return next((many for many in range(3) if any(after(moves) for moves in product(options, repeat=many))), None)
