"""Which cores, NUMA nodes and volumes replicas get, and how a resize keeps them."""

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.capacity import fit
from fairlead.levels.node.keepvolumes import kept_volumes
from fairlead.levels.node.numa import numa_pins
from fairlead.levels.node.pins import MOST_PINS, pins
from fairlead.levels.node.place import place
from fairlead.levels.node.realloc import Current, Resize, resize
from fairlead.levels.node.request import NodeRequest
from fairlead.model.mounts import mounts
from fairlead.model.nodes import NodeVolume, Room, node_table

GIB = 2**30
FOUR = {"0": 100, "1": 100, "2": 100, "3": 100}
HALVES = {"0": "0", "1": "0", "2": "1", "3": "1"}


def test_replica_lies_inside_one_numa_node_first() -> None:
    """1.3 cores twice on two NUMA nodes of two cores."""
    room = Room(name="n", cores=FOUR, numa=HALVES, numa_memory_bytes={"0": 10, "1": 10}, free={"memory": 20})
    found = numa_pins(room, NodeRequest(pieces=130, amounts={"memory": 1}))
    assert [(pin.cores, pin.numa) for pin in found] == [({"0": 30, "1": 100}, "0"), ({"2": 30, "3": 100}, "1")]


def test_what_fits_no_numa_node_spans_them() -> None:
    """Three cores of two NUMA nodes with two each."""
    found = numa_pins(Room(name="n", cores=FOUR, numa=HALVES), NodeRequest(pieces=300))
    assert [(sorted(pin.cores), pin.numa) for pin in found] == [(["0", "1", "2"], None)]


def test_memory_of_a_numa_node_limits_what_lies_inside_it() -> None:
    """One a NUMA node by its memory, one more across them from what the node has besides."""
    room = Room(
        name="n", cores=FOUR, numa=HALVES, numa_memory_bytes={"0": GIB, "1": GIB}, free={"memory": 3 * GIB}
    )  # fmt: skip
    found = numa_pins(room, NodeRequest(pieces=100, amounts={"memory": GIB}))
    assert [pin.numa for pin in found] == ["0", "1", None]
    assert fit([room], NodeRequest(pieces=100, amounts={"memory": GIB})).capacity.tolist() == [3]


def test_limit_of_shared_cores_holds_for_the_whole_node() -> None:
    """A fragment core in one NUMA node counts in the other."""
    room = Room(name="n", cores=FOUR, numa=HALVES)
    for most, zones in ((1, ["0", None, None]), (2, ["0", "1"])):
        found = numa_pins(room, NodeRequest(pieces=130, max_share=most))
        shared = {core for pin in found for core, pieces in pin.cores.items() if pieces == 30}
        assert zones == [pin.numa for pin in found]
        assert len(shared) == most


def test_tiny_fragments_on_huge_cores_are_counted_up_to_a_bound() -> None:
    """Memory stays bounded whatever the input says."""
    room = Room(name="n", cores={str(core): 12_800 for core in range(16)}, numa={"0": "0"})
    assert fit([room], NodeRequest(pieces=1)).capacity.tolist() == [100_000]


def test_cores_outside_every_numa_node_serve_across() -> None:
    """A core that no NUMA node claims is left for replicas that span."""
    room = Room(name="n", cores={"0": 100, "1": 100}, numa={"0": "0"})
    assert [(pin.cores, pin.numa) for pin in numa_pins(room, NodeRequest(pieces=100))] == [
        ({"0": 100}, "0"),
        ({"1": 100}, None),
    ]


def test_pins_combine_cores_numa_and_volumes() -> None:
    """One pin a replica with everything it holds; nothing where nothing is bound."""
    room = Room(
        name="n", cores=FOUR, numa=HALVES, volumes={"/b": NodeVolume(free_bytes=90, total_bytes=90)}, free={"memory": 9}
    )
    request = NodeRequest(pieces=200, mounts=mounts(["AUTO:/x:rw:30", "AUTO:/y:rw:10", "/plain:/z"], "$"))
    first, second = pins(fit([room], request), 0, 9)
    assert (first.cores, first.numa, first.volumes) == ({"0": 100, "1": 100}, "0", {"/b": 40})
    assert (second.cores, second.numa) == ({"2": 100, "3": 100}, "1")
    assert pins(fit([room], NodeRequest(amounts={"memory": 1})), 0, 9) == ()


def test_pins_beyond_all_use_are_cut_with_a_note() -> None:
    """The counts go on, the list does not."""
    room = Room(name="n", volumes={"/a": NodeVolume(free_bytes=10**9, total_bytes=10**9)})
    found = fit([room], NodeRequest(mounts=mounts(["AUTO:/x:rw:1"], "$")))
    decision = place(node_table(["n"], found.capacity), NodeAsk(need=MOST_PINS + 1, each=1), "communism", fit=found)
    assert (decision.placements, len(decision.pins["n"])) == ({"n": MOST_PINS + 1}, MOST_PINS)
    assert decision.trace.notes == (f"pins are listed for the first {MOST_PINS} replicas only",)


def test_cores_that_are_shared_already_count_in_the_most_that_may_be() -> None:
    """Two may be shared and one is: one large core is given up, though two small ones would cost less."""
    cores = {"0": 50, "1": 300, "2": 100, "3": 100, "4": 100, "5": 100}
    held = pins(fit([Room(name="n", cores=cores)], NodeRequest(pieces=150, max_share=2)), 0, 4)
    assert len(held) == 4
    assert {core for pin in held for core, pieces in pin.cores.items() if pieces == 50} == {"0", "1"}


def test_smallest_core_that_will_do_is_shared() -> None:
    """The core with three slots stays whole, for this replica and later ones."""
    room = Room(name="n", cores={"0": 300, "1": 100, "2": 100})
    (pin,) = pins(fit([room], NodeRequest(pieces=130)), 0, 1)
    assert pin.cores == {"0": 100, "1": 30}


def test_large_core_is_shared_where_few_replicas_leave_its_slots_unused() -> None:
    """Three replicas use three of its five slots at most; sharing two smaller cores instead leaves too few."""
    room = Room(name="n", cores={"0": 200, "1": 200, "2": 200, "3": 500})
    found = pins(fit([room], NodeRequest(pieces=290)), 0, 9)
    assert [pin.cores["3"] for pin in found] == [90, 90, 90]


def test_core_names_are_in_natural_order() -> None:
    """Core 2 before core 10."""
    room = Room(name="n", cores={"10": 100, "2": 100, "1": 50})
    (pin,) = pins(fit([room], NodeRequest(pieces=150)), 0, 1)
    assert list(pin.cores.items()) == [("1", 50), ("2", 100)]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A replica with `cores` on a node with `free` besides, and what it holds at its new size (None: no room)."""

    free: dict[str, int]
    cores: dict[str, int]
    pieces: int
    want: dict[str, int] | None
    max_share: int | None = None
    numa: dict[str, str] = field(default_factory=dict)
    zone: str | None = None


RESIZES = {
    "shrink to one core: the whole one stays": Case(
        free={"0": 0, "1": 30, "2": 0}, cores={"0": 100, "1": 30, "2": 40}, pieces=100, want={"0": 100}
    ),
    "grow: the core that is free beside its own piece becomes whole": Case(
        free={"0": 0, "1": 80, "2": 0, "3": 0},
        cores={"0": 100, "1": 20, "2": 40, "3": 10},
        pieces=200,
        want={"0": 100, "1": 100},
    ),
    "grow to two": Case(
        free={"0": 0, "1": 70, "2": 0}, cores={"0": 100, "1": 30, "2": 40}, pieces=200, want={"0": 100, "1": 100}
    ),
    "grow where the other core is not whole": Case(
        free={"0": 0, "1": 60, "2": 0}, cores={"0": 100, "1": 30, "2": 40}, pieces=200, want=None
    ),
    "the same size keeps everything": Case(
        free={"0": 0, "1": 70, "2": 100}, cores={"0": 100, "1": 30}, pieces=130, want={"0": 100, "1": 30}
    ),
    "the same size keeps a whole core of a crowded one": Case(
        free={"0": 30, "1": 70}, cores={"0": 100, "1": 30}, pieces=130, want={"0": 100, "1": 30}
    ),
    "a fragment grows where it is": Case(free={"0": 100, "1": 50}, cores={"1": 30}, pieces=60, want={"1": 60}),
    "a fragment that cannot grow moves": Case(free={"0": 100, "1": 20}, cores={"1": 30}, pieces=60, want={"0": 60}),
    "a fragment moves to a core that has exactly that much": Case(
        free={"0": 60, "1": 20}, cores={"1": 30}, pieces=60, want={"0": 60}
    ),
    "a fragment that may open no other core": Case(
        free={"0": 100, "1": 20}, cores={"1": 30}, pieces=60, max_share=1, want=None
    ),
    "too few cores for the fragment": Case(free={"0": 0}, cores={"0": 100}, pieces=130, want=None),
    "it stays in its NUMA node": Case(
        free={"0": 0, "1": 70, "2": 100, "3": 100},
        cores={"0": 100, "1": 30},
        pieces=200,
        numa=HALVES,
        want={"0": 100, "1": 100},
        zone="0",
    ),
    "it moves to another NUMA node before it spans": Case(
        free={"0": 0, "1": 60, "2": 100, "3": 100},
        cores={"0": 100, "1": 30},
        pieces=200,
        numa=HALVES,
        want={"2": 100, "3": 100},
        zone="1",
    ),
    "it spans where no NUMA node is large enough": Case(
        free={"0": 0, "1": 100, "2": 100, "3": 100},
        cores={"0": 100},
        pieces=300,
        numa=HALVES,
        want={"0": 100, "1": 100, "2": 100},
    ),
    "what spans already keeps its cores": Case(
        free={"0": 100, "1": 0, "2": 0, "3": 100},
        cores={"1": 100, "2": 100},
        pieces=200,
        numa=HALVES,
        want={"1": 100, "2": 100},
    ),
}


def resized(case: Case) -> Resize:
    """The decision on a case."""
    room = Room(name="n", cores=case.free, numa=case.numa)
    return resize(room, NodeRequest(pieces=case.pieces, max_share=case.max_share), Current(cores=case.cores))


@pytest.mark.parametrize("case", RESIZES.values(), ids=RESIZES.keys())
def test_resize_keeps_cores_where_it_can(case: Case) -> None:
    """As many pieces as can be stay where they are."""
    decision = resized(case)
    if case.want is None:
        assert decision.pin is None
        assert decision.finding is not None
        assert (decision.finding.code, decision.unplaced) == ("InsufficientCapacity", 1)
        assert "do not make one replica" in decision.finding.sentence
    else:
        assert decision.pin is not None
        assert (case.want, case.zone) == (decision.pin.cores, decision.pin.numa)
        kept = sum(min(case.cores.get(core, 0), pieces) for core, pieces in case.want.items())
        assert kept == sum(decision.trace.kept.values())


def test_resize_never_takes_more_than_is_free_and_its_own() -> None:
    """Every size on a node in mixed state."""
    free, own = {"0": 0, "1": 70, "2": 100, "3": 200}, {"0": 100, "1": 30}
    for pieces in range(1, 500):
        decision = resize(Room(name="n", cores=free), NodeRequest(pieces=pieces), Current(cores=own))
        if decision.pin is not None:
            assert sum(decision.pin.cores.values()) == pieces
            assert all(taken <= free[core] + own.get(core, 0) for core, taken in decision.pin.cores.items())
    assert decision.pin is None, "499 pieces are five cores, and there are four"


def test_resize_needs_memory_beyond_what_the_replica_holds() -> None:
    """Its own memory is given back first."""
    room, current = Room(name="n", free={"memory": 10}), Current(amounts={"memory": 5})
    assert resize(room, NodeRequest(amounts={"memory": 15}), current).pin is not None
    refused = resize(room, NodeRequest(amounts={"memory": 16}), current)
    assert refused.finding is not None
    assert "not enough free memory" in refused.finding.sentence


def test_resize_leaves_a_numa_node_whose_memory_is_too_small() -> None:
    """Memory of the NUMA node counts with what the replica holds there."""
    room = Room(name="n", cores={"0": 0, "1": 100}, numa={"0": "0", "1": "1"}, numa_memory_bytes={"0": 1, "1": 9})
    request = NodeRequest(pieces=100, amounts={"memory": 6})
    small = resize(room, request, Current(cores={"0": 100}, amounts={"memory": 4}))
    large = resize(room, request, Current(cores={"0": 100}, amounts={"memory": 5}))
    assert small.pin is not None
    assert large.pin is not None
    assert (small.pin.numa, large.pin.numa) == ("1", "0")


FIVE = {f"/tmp{row}": NodeVolume(free_bytes=100, total_bytes=100) for row in range(1, 6)}
HELD = {"AUTO:/data1:rmw:2": {"/tmp3": 50}, "AUTO:/data2:r:54": {"/tmp5": 54}, "AUTO:/data3:rmw:2": {"/tmp3": 50}}

KEPT = {
    "the same mounts stay as they are": (
        ["AUTO:/data1:rmw:2", "AUTO:/data2:r:54", "AUTO:/data3:rmw:2"],
        HELD,
    ),
    "other sizes, same places": (
        ["AUTO:/data1:rmw:1", "AUTO:/data2:r:30", "AUTO:/data3:rmw:3"],
        {"AUTO:/data1:rmw:1": {"/tmp3": 25}, "AUTO:/data2:r:30": {"/tmp5": 30}, "AUTO:/data3:rmw:3": {"/tmp3": 75}},
    ),
    "one mount of the whole volume goes, the other gets all of it": (
        ["AUTO:/data1:rmw:1", "AUTO:/data2:r:30"],
        {"AUTO:/data1:rmw:1": {"/tmp3": 100}, "AUTO:/data2:r:30": {"/tmp5": 30}},
    ),
    "a new mount is chosen, the old one stays": (
        ["AUTO:/data2:r:54", "AUTO:/new:rw:50"],
        {"AUTO:/data2:r:54": {"/tmp5": 54}, "AUTO:/new:rw:50": {"/tmp1": 50}},
    ),
    "a mount outgrows its volume": (["AUTO:/data2:r:101"], None),
    "the whole volume is too small": (["AUTO:/data1:rmw:60", "AUTO:/data3:rmw:60"], None),
    "a new mount that fits nowhere": (["AUTO:/data2:r:54", "AUTO:/new:rw:101"], None),
}


@pytest.mark.parametrize(("texts", "want"), KEPT.values(), ids=KEPT.keys())
def test_resize_keeps_volumes_or_fails(texts: list[str], want: dict[str, dict[str, int]] | None) -> None:
    """Data does not move."""
    assert want == kept_volumes(FIVE, mounts(texts, "$"), HELD)


def test_resize_gives_back_what_the_replica_holds_up_to_the_volume() -> None:
    """Free and held together count, but never more than the volume has."""
    held = {"AUTO:/a:rw:60": {"/v": 60}}
    volumes = {"/v": NodeVolume(free_bytes=40, total_bytes=100)}
    assert kept_volumes(volumes, mounts(["AUTO:/a:rw:100"], "$"), held) == {"AUTO:/a:rw:100": {"/v": 100}}
    assert kept_volumes(volumes, mounts(["AUTO:/a:rw:101"], "$"), held) is None
    assert kept_volumes({}, mounts(["AUTO:/a:rw:1"], "$"), held) is None, "the volume is gone"
    refused = resize(Room(name="n"), NodeRequest(mounts=mounts(["AUTO:/a:rw:1"], "$")), Current(mounts=held))
    assert refused.finding is not None
    assert "volumes" in refused.finding.sentence


def test_two_mounts_outgrow_the_volume_they_share() -> None:
    """Each would fit alone; together they are one byte too many."""
    held = {"AUTO:/data1:rw:2": {"/tmp3": 2}, "AUTO:/data2:rw:2": {"/tmp3": 2}}
    assert kept_volumes(FIVE, mounts(["AUTO:/data1:rw:3", "AUTO:/data2:rw:98"], "$"), held) is None
    assert kept_volumes(FIVE, mounts(["AUTO:/data1:rw:3", "AUTO:/data2:rw:97"], "$"), held) == {
        "AUTO:/data1:rw:3": {"/tmp3": 3}, "AUTO:/data2:rw:97": {"/tmp3": 97},
    }  # fmt: skip


def test_whole_volume_that_is_new_is_chosen_among_the_unused() -> None:
    """What the replica keeps elsewhere does not matter, a used volume does."""
    volumes = {"/a": NodeVolume(free_bytes=40, total_bytes=100), "/b": NodeVolume(free_bytes=50, total_bytes=50)}
    held = {"AUTO:/x:rw:60": {"/a": 60}}
    assert kept_volumes(volumes, mounts(["AUTO:/x:rw:60", "AUTO:/y:rwm:50"], "$"), held) == {
        "AUTO:/x:rw:60": {"/a": 60}, "AUTO:/y:rwm:50": {"/b": 50},
    }  # fmt: skip
    assert kept_volumes(volumes, mounts(["AUTO:/x:rw:60", "AUTO:/y:rwm:51"], "$"), held) is None


def test_size_zero_stays_on_the_whole_volume_it_was_on() -> None:
    """A mount without a size may lie on the volume that the replica holds whole."""
    held = {"AUTO:/a:rmw:1": {"/tmp3": 100}, "AUTO:/b:rw": {"/tmp3": 0}}
    assert kept_volumes(FIVE, mounts(["AUTO:/a:rmw:1", "AUTO:/b:rw"], "$"), held) == held


def test_same_pins_whatever_the_order_of_cores() -> None:
    """Maps have no order that counts."""
    room = Room(name="n", cores={"0": 100, "1": 200, "10": 50, "2": 300})
    turned = replace(room, cores=dict(reversed(list((room.cores or {}).items()))))
    request = NodeRequest(pieces=130)
    assert pins(fit([room], request), 0, 9) == pins(fit([turned], request), 0, 9)
    used = Counter(core for pin in pins(fit([room], request), 0, 9) for core in pin.cores)
    assert used
