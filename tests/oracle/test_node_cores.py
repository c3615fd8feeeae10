"""Bound cpu against brute force on tiny nodes and an integer programme on small ones."""

from functools import cache
from itertools import chain, combinations

import highspy
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.node.corepins import core_pins
from fairlead.levels.node.cores import capacity

BASE = 10


def brute(free: tuple[int, ...], pieces: int, max_share: int | None) -> int:
    """The best over every choice of shared cores and every way to hand out whole ones."""
    whole_cores, fragment = divmod(pieces, BASE)
    partly = [pieces_ for pieces_ in free if pieces_ % BASE]
    full = [pieces_ for pieces_ in free if pieces_ and not pieces_ % BASE]
    most = len(full) if max_share is None else max(max_share - len(partly), 0)
    best = 0
    subsets = chain.from_iterable(combinations(range(len(full)), size) for size in range(len(full) + 1))
    for shared in subsets:
        if len(shared) > (most if fragment else 0):
            continue
        fragments = sum(pieces_ // fragment for pieces_ in [*partly, *(full[row] for row in shared)]) if fragment else 0
        wholes = rounds(tuple(full[row] // BASE for row in range(len(full)) if row not in shared), whole_cores)
        ways = [count for count, asked in ((fragments, fragment), (wholes, whole_cores)) if asked]
        best = max(best, min(ways))
    return best


@cache
def rounds(slots: tuple[int, ...], distinct: int) -> int:
    """How many times `distinct` different cores can be taken, trying every choice."""
    if not distinct:
        return 0
    left = tuple(sorted(slot for slot in slots if slot))
    return max(
        (
            1 + rounds(tuple(slot - (row in chosen) for row, slot in enumerate(left)), distinct)
            for chosen in combinations(range(len(left)), distinct)
        ),
        default=0,
    )


def programme(free: list[int], pieces: int, max_share: int | None) -> int:
    """The same as an integer programme: share core i or not, and how many of its slots are used whole."""
    whole_cores, fragment = divmod(pieces, BASE)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    replicas = solver.addVariable(0, 10_000, obj=1, type=highspy.HighsVarType.kInteger)
    loose = sum(each // fragment for each in free if each % BASE)
    full = [each for each in free if each and not each % BASE]
    shared = [solver.addVariable(0, 1, type=highspy.HighsVarType.kInteger) for _ in full]
    used = [solver.addVariable(0, each // BASE, type=highspy.HighsVarType.kInteger) for each in full]
    for row, each in enumerate(full):
        solver.addConstr(used[row] + each // BASE * shared[row] <= each // BASE)
        solver.addConstr(used[row] - replicas <= 0)
    if full:
        solver.addConstr(sum(used) - whole_cores * replicas >= 0)
        gains = [each // fragment * shared[row] for row, each in enumerate(full)]
        solver.addConstr(sum(gains) - replicas >= -loose)
        if max_share is not None:
            solver.addConstr(sum(shared) <= max(max_share - sum(1 for each in free if each % BASE), 0))
    else:
        return 0
    solver.maximize()
    return round(solver.getInfo().objective_function_value)


cores = st.sampled_from([0, 3, 7, 10, 10, 10, 14, 20, 30, 35])
shares = st.none() | st.integers(0, 4)


@given(st.lists(cores, max_size=5), st.integers(1, 35), shares)
def test_capacity_equals_brute_force(free: list[int], pieces: int, max_share: int | None) -> None:
    """No choice of shared and whole cores makes room for more replicas."""
    row = np.array([free], dtype=np.int64).reshape(1, len(free))
    assert brute(tuple(free), pieces, max_share) == capacity(row, pieces, BASE, max_share)[0]


@given(
    st.lists(st.sampled_from([0, 4, 10, 10, 20, 23, 30, 50]), min_size=1, max_size=14),
    st.integers(11, 39).filter(lambda pieces: pieces % BASE),
    st.none() | st.integers(0, 8),
)
def test_capacity_equals_an_integer_programme(free: list[int], pieces: int, max_share: int | None) -> None:
    """On nodes too large to enumerate an exact solver agrees."""
    assert programme(free, pieces, max_share) == capacity(np.array([free], dtype=np.int64), pieces, BASE, max_share)[0]


@given(st.lists(cores, max_size=6), st.integers(1, 35), shares)
def test_pins_exist_for_the_whole_capacity(free: list[int], pieces: int, max_share: int | None) -> None:
    """As many as the capacity, within each core, of the asked size; partly used cores get fragments only."""
    row = np.array([free], dtype=np.int64).reshape(1, len(free))
    replicas = int(capacity(row, pieces, BASE, max_share)[0])
    named = {str(core): each for core, each in enumerate(free)}
    for asked in range(replicas + 1):
        pins = core_pins(named, asked, pieces, BASE, max_share)
        assert len(pins) == asked
        used = {core: sum(pin.get(core, 0) for pin in pins) for core in named}
        assert all(used[core] <= named[core] for core in named)
        for pin in pins:
            assert sum(pin.values()) == pieces
            assert sorted(pin.values(), reverse=True)[: pieces // BASE] == [BASE] * (pieces // BASE)
            assert len(pin) == -(-pieces // BASE)
            assert all(named[core] % BASE == 0 for core, taken in pin.items() if taken == BASE)
        opened = {core for pin in pins for core, taken in pin.items() if taken < BASE and named[core] % BASE == 0}
        if max_share is not None:
            assert len(opened) <= max(max_share - sum(1 for each in free if each % BASE), 0)
        assert all(pin.get(core, 0) < BASE for core in opened for pin in pins)


@given(st.lists(st.lists(cores, min_size=4, max_size=4), min_size=1, max_size=6), st.integers(1, 25), shares)
def test_many_nodes_at_once_equal_one_at_a_time(nodes: list[list[int]], pieces: int, max_share: int | None) -> None:
    """Rows do not see one another."""
    matrix = np.array(nodes, dtype=np.int64)
    together = capacity(matrix, pieces, BASE, max_share).tolist()
    assert together == [int(capacity(matrix[row : row + 1], pieces, BASE, max_share)[0]) for row in range(len(nodes))]


def test_a_core_serves_a_replica_once_however_often_it_is_sold() -> None:
    """Two slots of one core are not two whole cores; two such cores take two replicas."""
    free = np.array([[20, 0], [20, 20], [20, 10]], dtype=np.int64)
    assert capacity(free, 20, 10).tolist() == [0, 2, 1]
