"""The choice of a disk against brute force: every candidate simulated, every score worked out from its definition."""

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.disk import balance as level
from fairlead.levels.disk.balance import balance
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Disk, disk_table
from fairlead.model.storage import AntiAffinity, StorageVolume


@dataclass
class Spot:
    """A disk of the oracle."""

    node: str
    name: str
    usable: int
    total: int
    zone: str


def spread(values: list[Fraction]) -> Fraction:
    """(max − min)/mean, 0 where the mean is 0."""
    mean = sum(values) / len(values)
    return (max(values) - min(values)) / mean if mean else Fraction(0)


def unevenness(values: list[Fraction]) -> Fraction:
    """Variance over the squared mean."""
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values) / mean**2 if mean else Fraction(0)


def mixed(pairs: list[tuple[int, int]], alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Score and unevenness of (usable, total) pairs."""
    usable = [Fraction(use) for use, _ in pairs]
    ratios = [Fraction(use, total) for use, total in pairs]
    return (
        alpha * spread(usable) + (1 - alpha) * spread(ratios),
        alpha * unevenness(usable) + (1 - alpha) * unevenness(ratios),
    )


def lowest(pairs: dict[str, tuple[int, int]], among: list[str], size: int, alpha: Fraction) -> str:
    """Of `among` the name whose placement has the lowest (score, variance, −left, name)."""

    def key(name: str) -> tuple[Fraction, Fraction, int, str]:
        after = [(use - size if each == name else use, total) for each, (use, total) in pairs.items()]
        return (*mixed(after, alpha), size - pairs[name][0], name)

    return min(among, key=key)


def brute(spots: list[Spot], size: int, replicas: int, alpha: Fraction, everywhere: bool, anti: str) -> list[str]:
    """The places of all replicas, each chosen by trying every candidate."""
    result: list[str] = []
    used: list[Spot] = []
    for _ in range(replicas):
        allowed = [
            spot
            for spot in spots
            if not any(
                (anti in ("node", "zone") and spot.node == other.node)
                or (anti == "zone" and spot.zone and spot.zone == other.zone)
                or (anti == "disk" and spot is other)
                for other in used
            )
        ]
        fitting = [spot for spot in allowed if spot.usable >= size]
        if not fitting:
            break
        nodes = {
            name: (
                sum(spot.usable for spot in spots if spot.node == name),
                sum(spot.total for spot in spots if spot.node == name),
            )
            for name in {spot.node for spot in fitting}
        }
        node = lowest(nodes, list(nodes), size, alpha)
        stage = fitting if everywhere else [spot for spot in fitting if spot.node == node]
        own = [spot.name for spot in fitting if spot.node == node]
        disk = lowest({spot.name: (spot.usable, spot.total) for spot in stage}, own, size, alpha)
        chosen = next(spot for spot in spots if spot.name == disk)
        chosen.usable -= size
        used.append(chosen)
        result.append(f"{chosen.node}/{chosen.name}")
    return result


@st.composite
def clusters(draw: st.DrawFn) -> list[Spot]:
    """Up to five nodes of up to three disks, with small numbers so that ties are common; names sort as text."""
    spots = []
    for node in range(draw(st.integers(1, 5))):
        zone = draw(st.sampled_from(["", "x", "y"]))
        for disk in range(draw(st.integers(1, 3))):
            total = draw(st.sampled_from([4, 6, 8, 12, 30]))
            usable = draw(st.integers(0, total))
            spots.append(Spot(f"n{node}", f"n{node}d{disk}", usable, total, zone))
    return spots


def ours(spots: list[Spot], size: int, replicas: int, policy: BalancePolicy) -> list[str]:
    """The level's places."""
    disks = [
        Disk(node=spot.node, name=spot.name, usable_bytes=spot.usable, total_bytes=spot.total, zone=spot.zone)
        for spot in spots
    ]
    decision = balance([StorageVolume(name="v", size_bytes=size, replicas=replicas)], disk_table(disks), policy)
    assert len(decision.placed) + decision.unplaced == replicas
    return [f"{each.node}/{each.disk}" for each in decision.placed]


alphas = st.sampled_from([Fraction(1), Fraction(0), Fraction(1, 2), Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)])
antis = st.sampled_from(["none", "disk", "node", "zone"])


@given(clusters(), st.integers(1, 4), st.integers(1, 6), alphas, st.booleans(), antis, st.randoms())
def test_choice_equals_brute_force(spots, size, replicas, alpha, everywhere, anti, random) -> None:  # type: ignore[no-untyped-def]
    """Every replica goes where trying all candidates would put it, whatever the order of the input."""
    policy = BalancePolicy(alpha=alpha, everywhere=everywhere, anti_affinity=AntiAffinity.of(anti))
    shuffled = random.sample(spots, len(spots))
    got = ours(shuffled, size, replicas, policy)
    assert got == brute(spots, size, replicas, alpha, everywhere, anti)


@given(clusters(), st.integers(1, 3), st.integers(1, 25), antis)
def test_heaps_choose_as_brute_force_does(spots, size, replicas, anti) -> None:  # type: ignore[no-untyped-def]
    """A burst, chosen from heaps after the first replica, ends where brute force does."""
    policy = BalancePolicy(anti_affinity=AntiAffinity.of(anti))
    traced, level.TRACED = level.TRACED, 1
    try:
        got = ours(spots, size, replicas, policy)
    finally:
        level.TRACED = traced
    assert got == brute(spots, size, replicas, Fraction(1), False, anti)


mixes = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(9, 10)])


@given(clusters(), st.integers(1, 3), st.integers(1, 25), mixes, st.sampled_from(["none", "node"]))
def test_groups_choose_as_brute_force_does(spots, size, replicas, alpha, anti) -> None:  # type: ignore[no-untyped-def]
    """The same at an alpha below 1, where the nodes are grouped by total."""
    policy = BalancePolicy(alpha=alpha, anti_affinity=AntiAffinity.of(anti))
    before = level.TRACED, level.WORTHWHILE
    level.TRACED, level.WORTHWHILE = 0, 0
    try:
        got = ours(spots, size, replicas, policy)
    finally:
        level.TRACED, level.WORTHWHILE = before
    assert got == brute(spots, size, replicas, alpha, False, anti)


@given(clusters(), st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=12), mixes)
def test_groups_serve_many_volumes_as_one_by_one_does(spots, asks, alpha) -> None:  # type: ignore[no-untyped-def]
    """Volumes of several sizes, replicas on different nodes: hidden nodes come back for the next volume."""
    disks = [Disk(node=spot.node, name=spot.name, usable_bytes=spot.usable, total_bytes=spot.total) for spot in spots]
    volumes = [StorageVolume(name=f"v{row}", size_bytes=size, replicas=many) for row, (size, many) in enumerate(asks)]
    policy = BalancePolicy(alpha=alpha)
    want = balance(volumes, disk_table(disks), policy)
    before = level.TRACED, level.WORTHWHILE
    level.TRACED, level.WORTHWHILE = 0, 0
    try:
        got = balance(volumes, disk_table(disks), policy)
    finally:
        level.TRACED, level.WORTHWHILE = before
    assert (got.placed, got.unplaced) == (want.placed, want.unplaced)


@st.composite
def large_clusters(draw: st.DrawFn) -> list[Spot]:
    """Nodes of one or two disks of terabytes that differ by single bytes, where rounding could decide wrongly."""
    tera = 2**40
    spots = []
    for node in range(draw(st.integers(2, 5))):
        for disk in range(draw(st.integers(1, 2))):
            total = draw(st.sampled_from([tera, tera + 1, tera - 1, 3 * tera, 3 * tera + 2]))
            usable = draw(st.sampled_from([tera // 2, tera // 3, tera - 7])) + draw(st.integers(-2, 2))
            spots.append(Spot(f"n{node}", f"n{node}d{disk}", usable, total, ""))
    return spots


@given(large_clusters(), st.sampled_from([1, 2**30, 2**38 + 1]), alphas, st.booleans())
def test_choice_equals_brute_force_to_the_byte(spots, size, alpha, everywhere) -> None:  # type: ignore[no-untyped-def]
    """Scores that agree to fifteen digits are still told apart."""
    policy = BalancePolicy(alpha=alpha, everywhere=everywhere)
    got = ours(spots, size, 3, policy)
    assert got == brute(spots, size, 3, alpha, everywhere, "node")
