"""How many replicas fit a node, by every resource it may lack."""

import pytest

from fairlead.levels.node.capacity import fit, reason_of
from fairlead.levels.node.constraints.reasons import TAINT_NOT_TOLERATED
from fairlead.levels.node.pins import pins
from fairlead.levels.node.request import NodeRequest, pieces_of
from fairlead.model.errors import InputError
from fairlead.model.mounts import mount, mounts
from fairlead.model.nodes import UNLIMITED, NodeVolume, Room

GIB = 2**30


def fits(room: Room, request: NodeRequest) -> int:
    """The capacity of one node."""
    return int(fit([room], request).capacity[0])


def bound(cpu: float, **more: int) -> NodeRequest:
    """Bound cpu of base 100."""
    return NodeRequest(pieces=pieces_of(cpu, 100, "cpu"), **more)  # type: ignore[arg-type]


def test_memory_is_divided() -> None:
    """Ten megabytes each of a hundred: the first example of eru's scheduling page."""
    assert fits(Room(name="n", free={"memory": 100}), NodeRequest(amounts={"memory": 10})) == 10


def test_whole_cores_that_are_free_count() -> None:
    """Two of four cores are used up, one core each: the second example of eru's scheduling page."""
    assert fits(Room(name="n", cores={"0": 0, "1": 0, "2": 100, "3": 100}), bound(1)) == 2


def test_volumes_are_divided_one_by_one() -> None:
    """A hundred each of a thousand and of two hundred: the third example of eru's scheduling page."""
    room = Room(name="n", volumes={"/sda0": volume(1000), "/sda1": volume(200)})
    assert fits(room, NodeRequest(mounts=mounts(["AUTO:/data:rw:100"], "$"))) == 12


def volume(free: int, total: int | None = None) -> NodeVolume:
    """A volume, unused unless a larger total is given."""
    return NodeVolume(free_bytes=free, total_bytes=free if total is None else total)


def test_nothing_asked_for_is_no_limit() -> None:
    """A request of 0 is unlimited, on the smallest node too."""
    assert fits(Room(name="n", free={"memory": 0}), NodeRequest()) == UNLIMITED


CPU_CASES = {
    "unbound on cores: runs on all of them": (Room(name="n", cores={"0": 100, "1": 0}), 2000, UNLIMITED),
    "unbound on cores: but not on more than there are": (Room(name="n", cores={"0": 100, "1": 100}), 2001, 0),
    "a quantity counts": (Room(name="n", free={"cpu": 7900}), 2000, 3),
    "a node that tells nothing about cpu": (Room(name="n"), 2000, UNLIMITED),
}


@pytest.mark.parametrize(("room", "milli", "want"), CPU_CASES.values(), ids=CPU_CASES.keys())
def test_unbound_cpu(room: Room, milli: int, want: int) -> None:
    """Period and quota on cores; requests as Kubernetes counts them on a quantity."""
    assert want == fits(room, NodeRequest(amounts={"cpu": milli}))


BOUND_CASES = {
    "whole and a fragment, one core shared": ({"0": 100, "1": 100, "2": 100, "3": 100}, 1.3, None, 3),
    "a partly used core serves fragments": ({"0": 30, "1": 100}, 1.3, None, 1),
    "a partly used core serves no whole": ({"0": 130, "1": 30}, 1, None, 0),
    "three times the base, three whole slots": ({"0": 300}, 1, None, 3),
    "whole cores of a replica are distinct": ({"0": 300}, 2, None, 0),
    "a fragment on one more core than the whole ones": ({"0": 300}, 1.5, None, 0),
    "beyond prefix search": ({"0": 100, "1": 300, "2": 300}, 1.7, None, 4),
    "fragments only": ({"0": 100, "1": 50, "2": 20}, 0.3, None, 4),
    "fragments only, one shared core": ({"0": 100, "1": 200, "2": 0}, 0.3, 1, 6),
    "no core may be shared": ({"0": 100, "1": 100}, 1.3, 0, 0),
    "a limit of two": ({str(core): 100 for core in range(6)}, 1.7, 2, 2),
    "a limit that the shared cores use up": ({"0": 50, "1": 60, "2": 100}, 0.5, 2, 2),
    "no cores at all": ({}, 1, None, 0),
}


@pytest.mark.parametrize(("cores", "cpu", "most", "want"), BOUND_CASES.values(), ids=BOUND_CASES.keys())
def test_bound_cpu(cores: dict[str, int], cpu: float, most: int | None, want: int) -> None:
    """Whole cores plus at most one fragment core each."""
    assert want == fits(Room(name="n", cores=cores), NodeRequest(pieces=pieces_of(cpu, 100, "cpu"), max_share=most))


def test_bound_cpu_on_a_node_without_cores_has_no_room() -> None:
    """Beside nodes with cores, a node that does not list any cannot bind."""
    rooms = [Room(name="a"), Room(name="b", cores={"0": 100})]
    assert fit(rooms, bound(1)).capacity.tolist() == [0, 1]


REFUSED_PIECES = {"less than a piece": 0.009, "between pieces": 1.005, "nothing": 0, "negative": -1, "absurd": 10**12}


@pytest.mark.parametrize("cpu", REFUSED_PIECES.values(), ids=REFUSED_PIECES.keys())
def test_cpu_that_is_no_whole_number_of_pieces_cannot_be_bound(cpu: float) -> None:
    """Refused at once: rounding it down would make endless plans, rounding it up would charge what was not asked."""
    with pytest.raises(InputError, match="expected"):
        pieces_of(cpu, 100, "$.request.cpu")


@pytest.mark.parametrize(("cpu", "base", "want"), [(2.3, 100, 230), (0.29, 100, 29), (1.7, 10, 17), ("500m", 10, 5)])
def test_pieces_are_exact(cpu: float | str, base: int, want: int) -> None:
    """Decimals are read as written, quantities too."""
    assert want == pieces_of(cpu, base, "cpu")


def test_fragment_limit_below_what_is_shared_is_refused() -> None:
    """The message names the node and what would do."""
    room = Room(name="n7", cores={"0": 50, "1": 60, "2": 100})
    with pytest.raises(InputError, match="2 cores of n7 are shared already"):
        fit([room], NodeRequest(pieces=50, max_share=1))
    assert fits(room, NodeRequest(pieces=100, max_share=1)) == 1, "whole cores share nothing, so the limit is not read"


def test_core_beyond_all_measure_is_refused() -> None:
    """Memory stays bounded whatever the input says."""
    with pytest.raises(InputError, match="expected at most 128 times"):
        fit([Room(name="a"), Room(name="n", cores={"0": 10**9})], bound(1.5))


OTHERS = {
    "memory it does not have": ({"memory": 10}, Room(name="n"), 0),
    "storage": ({"storage": 10}, Room(name="n", free={"storage": 45}), 4),
    "storage it does not have": ({"storage": 10}, Room(name="n"), 0),
    "an extended resource": ({"nvidia.com/gpu": 2}, Room(name="n", free={"nvidia.com/gpu": 5}), 2),
    "an extended resource it does not have": ({"nvidia.com/gpu": 1}, Room(name="n"), 0),
    "pods": ({"memory": 1}, Room(name="n", free={"pods": 3, "memory": 100}), 3),
}


@pytest.mark.parametrize(("amounts", "room", "want"), OTHERS.values(), ids=OTHERS.keys())
def test_other_resources(amounts: dict[str, int], room: Room, want: int) -> None:
    """A node has what it names; every replica takes one of its pods."""
    assert want == fits(room, NodeRequest(amounts=amounts))


def test_chosen_volumes_are_charged_to_storage_too() -> None:
    """Storage is the sum of the volumes and the rest, so both limit."""
    request = NodeRequest(amounts={"storage": 10}, mounts=mounts(["AUTO:/data:rw:20"], "$"))
    assert fits(Room(name="n", free={"storage": 95}, volumes={"/a": volume(1000)}), request) == 3
    bare = NodeRequest(mounts=mounts(["AUTO:/data:rw:20"], "$"))
    assert fits(Room(name="n", volumes={"/a": volume(1000)}), bare) == 50, (
        "a node that does not report it is not limited"
    )


VOLUME_CASES = {
    "plain mounts limit nothing": (["/tmp:/tmp:rw:2048", "/var/log:/log:ro"], {"/a": volume(1)}, UNLIMITED),
    "two sizes that share a volume": (["AUTO:/a:rw:20", "AUTO:/b:rw:200"], {"/a": volume(440)}, 2),
    "the larger three go where smallest first fails": (
        ["AUTO:/x:rw:100", "AUTO:/y:rw:150", "AUTO:/z:rw:400"], {"/a": volume(150), "/b": volume(500)}, 1,
    ),
    "size 0 on any volume": (["AUTO:/a:rw:0"], {"/a": volume(0)}, UNLIMITED),
    "size 0 needs a volume": (["AUTO:/a:rw:0"], {}, 0),
    "no size is size 0": (["AUTO:/a"], {"/a": volume(5)}, UNLIMITED),
    "a whole volume each": (["AUTO:/a:rwm:10"], {"/a": volume(10), "/b": volume(99), "/c": volume(9)}, 2),
    "a used volume cannot be taken whole": (["AUTO:/a:m:10"], {"/a": volume(99, 100)}, 0),
    "whole volumes of one replica lie together": (
        ["AUTO:/a:m:10", "AUTO:/b:m:20"], {"/a": volume(29), "/b": volume(30)}, 1,
    ),
    "normal parts need a volume that is not taken whole": (
        ["AUTO:/a:rw:50", "AUTO:/b:rwm:50"], {name: volume(1000) for name in "abcd"}, 3,
    ),
    "size 0 beside a whole volume": (["AUTO:/a:rw:0", "AUTO:/b:rwm:50"], {"/a": volume(50), "/b": volume(50)}, 1),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "volumes", "want"), VOLUME_CASES.values(), ids=VOLUME_CASES.keys())
def test_volumes(texts: list[str], volumes: dict[str, NodeVolume], want: int) -> None:
    """Normal, whole, plain and of size 0."""
    assert want == fits(Room(name="n", volumes=volumes), NodeRequest(mounts=mounts(texts, "$")))


def test_packing_too_large_to_search_says_how_far_it_may_be_off() -> None:
    """Beyond the documented size the capacity is what certainly fits, with an upper bound."""
    sizes = [97, 61, 43, 31, 29]
    room = Room(name="n", volumes={f"/v{row}": volume(1000 + 37 * row) for row in range(40)})
    request = NodeRequest(mounts=tuple(mount(f"AUTO:/d{size}:rw:{size}") for size in sizes))
    found = fit([room, room], request)
    assert (found.capacity <= found.upper).all()
    assert found.upper[0] - found.capacity[0] < len(room.volumes)


BAD_MOUNTS = {
    "no target": "AUTO",
    "too many parts": "AUTO:/a:rw:1:2",
    "no source": ":/a",
    "flags that are none": "AUTO:/a:R W:1",
    "a size that is none": "AUTO:/a:rw:much",
    "a negative size": "AUTO:/a:rw:-5",
}


@pytest.mark.parametrize("text", BAD_MOUNTS.values(), ids=BAD_MOUNTS.keys())
def test_bad_mount_is_refused_with_its_place(text: str) -> None:
    """The path is that of the entry."""
    with pytest.raises(InputError) as refused:
        mounts(["AUTO:/ok:rw:1", text], "$.request.volumes")
    assert refused.value.path == "$.request.volumes[1]"


def test_mount_at_one_target_twice_is_refused_only_where_volumes_are_chosen() -> None:
    """Two plain mounts may overlay each other; two chosen volumes may not."""
    assert len(mounts(["/a:/x", "/b:/x", "AUTO:/y:rw:1"], "$")) == 3
    with pytest.raises(InputError, match="mounted twice"):
        mounts(["AUTO:/x:rw:1", "AUTO:/x:rw:2"], "$")


@pytest.mark.parametrize(("text", "size"), [("1G", 10**9), ("1Gi", GIB), ("1GiB", GIB), ("2KB", None), ("7", 7)])
def test_sizes_of_volumes_are_quantities(text: str, size: int | None) -> None:
    """Kubernetes' suffixes, and Docker's spelling of them."""
    if size is None:
        with pytest.raises(InputError):
            mount(f"AUTO:/a:rw:{text}")
    else:
        assert size == mount(f"AUTO:/a:rw:{text}").size_bytes


def test_binding_resource_is_the_tightest_and_the_first_of_equals() -> None:
    """By node: what limits it, and nothing where nothing does."""
    rooms = [
        Room(name="a", free={"memory": 100, "storage": 30}),
        Room(name="b", free={"memory": 20, "storage": 30}),
        Room(name="c", free={"memory": 30, "storage": 30}, capacity=2),
    ]
    found = fit(rooms, NodeRequest(amounts={"memory": 10, "storage": 10}))
    assert [found.binding(row) for row in range(3)] == ["storage", "memory", "given"]
    assert fit(rooms, NodeRequest()).binding(0) is None


def test_node_known_by_its_capacity_alone_is_taken_at_its_word() -> None:
    """Whatever is asked for; beside it, nodes that tell their resources are weighed."""
    rooms = [Room(name="a", capacity=7), Room(name="b", cores={"0": 100}, capacity=7), Room(name="c")]
    found = fit(rooms, NodeRequest(pieces=100, amounts={"memory": 0}, mounts=mounts(["AUTO:/d:rw:1"], "$")))
    assert found.capacity.tolist() == [7, 0, 0]
    assert fit(rooms, bound(1)).capacity.tolist() == [7, 1, 0]
    assert pins(fit(rooms, bound(1)), 0, 7) == ()
    assert len(pins(fit(rooms, bound(1)), 1, 7)) == 1


def test_node_ruled_out_by_a_filter_has_no_room_for_that_reason() -> None:
    """What a filter of the caller says comes before any resource."""
    found = fit([Room(name="a"), Room(name="b")], NodeRequest(), barred=[None, TAINT_NOT_TOLERATED])
    assert found.capacity.tolist() == [UNLIMITED, 0]
    assert found.binding(1) == "TaintNotTolerated"
    assert reason_of("TaintNotTolerated") is TAINT_NOT_TOLERATED
    assert reason_of("nvidia.com/gpu").code == "InsufficientResource"
