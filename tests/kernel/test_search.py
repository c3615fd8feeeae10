"""The search for where a count passes a number."""

import pytest

from fairlead.kernel.search import Bracket, narrow

COUNTS = {
    "a straight line": lambda x: 3 * x,
    "a parabola": lambda x: x * x,
    "a root": lambda x: int(x**0.5),
    "one jump": lambda x: 1000 * (x >= 777_777_777),
    "stairs": lambda x: 100 * (x // 10_000_019),
    "a tail": lambda x: max(0, x - 999_999_000) ** 3,
    "a late jump": lambda x: x // 10**6 + 10**12 * (x >= 999_999_999),
}
HIGH = 10**9
PROBES = {
    "a straight line": 14,
    "a parabola": 51,
    "a root": 71,
    "one jump": 165,
    "stairs": 161,
    "a tail": 189,
    "a late jump": 145,
}
"""Probes for all five wanted numbers together."""


@pytest.mark.parametrize("wanted", [1, 2, 500, 999, 1000])
@pytest.mark.parametrize("name", COUNTS)
def test_narrow_to_neighbours_finds_the_least_place(name: str, wanted: int) -> None:
    """The ends are neighbours, the counts are theirs, and it took a small number of probes."""
    count, probes = COUNTS[name], []

    def counted(x: int) -> int:
        probes.append(x)
        return count(x)

    found = narrow(counted, Bracket(-1, HIGH, count(-1) if name == "a straight line" else 0, count(HIGH)), wanted)
    assert found.high - found.low == 1 == found.width
    assert count(found.high) == found.reached >= wanted > found.below
    assert found.low == -1 or found.below == count(found.low)
    assert found.between == found.reached - found.below
    assert len(probes) == len(set(probes)) <= 100


@pytest.mark.parametrize("name", COUNTS)
def test_narrow_takes_no_more_probes_than_it_did(name: str) -> None:
    """The cost of every kernel that searches is this number; recorded, so that a slower search shows."""
    count, probes = COUNTS[name], []

    def counted(x: int) -> int:
        probes.append(x)
        return count(x)

    for wanted in (1, 2, 500, 999, 1000):
        narrow(counted, Bracket(-1, HIGH, 0, count(HIGH)), wanted)
    assert len(probes) <= PROBES[name]


def test_narrow_starting_from_a_count_above_zero() -> None:
    """What is counted below the low end does not mislead the first guess: a line is solved at once."""
    probes: list[int] = []

    def line(x: int) -> int:
        probes.append(x)
        return 7 * x

    found = narrow(line, Bracket(10**6, 2 * 10**6, 7 * 10**6, 14 * 10**6), 7 * 1_234_567)
    assert found == Bracket(1_234_566, 1_234_567, 7 * 1_234_566, 7 * 1_234_567)
    assert len(probes) <= 2


def test_narrow_of_a_smooth_count_takes_a_few_probes() -> None:
    """Interpolation, not halving: a line over 2**60 places is solved at once, a parabola in a dozen steps."""
    probes: list[int] = []

    def line(x: int) -> int:
        probes.append(x)
        return 3 * x

    narrow(line, Bracket(0, 2**60, 0, 3 * 2**60), 3 * 123456789)
    assert len(probes) <= 4
    probes.clear()

    def parabola(x: int) -> int:
        probes.append(x)
        return x * x

    narrow(parabola, Bracket(0, 2**60, 0, 2**120), 10**18)
    assert len(probes) <= 16


def test_narrow_of_a_jump_halves() -> None:
    """Where interpolation learns nothing the bracket is halved: a jump in 2**60 places takes about 60 probes."""
    probes: list[int] = []

    def jump(x: int) -> int:
        probes.append(x)
        return 1000 * (x > 2**59 + 12345)

    found = narrow(jump, Bracket(0, 2**60, 0, 1000), 1000)
    assert found == Bracket(2**59 + 12345, 2**59 + 12346, 0, 1000)
    assert len(probes) <= 75


def test_narrow_stops_at_slack() -> None:
    """No more than the slack is counted between the ends, and the bracket is still one."""
    found = narrow(lambda x: x * x, Bracket(0, 10**6, 0, 10**12), 7 * 10**11, slack=10**10)
    assert found.below < 7 * 10**11 <= found.reached
    assert found.between <= 10**10
    assert found.width > 1


def test_narrow_stops_at_a_tie_but_not_above_it() -> None:
    """A jump of no more than the tie ends the search early; a larger one does not."""
    probes: list[int] = []

    def jump(x: int) -> int:
        probes.append(x)
        return 1000 * (x > 2**59)

    early = narrow(jump, Bracket(0, 2**60, 0, 1000), 500, tie=1000)
    assert (early.below, early.reached) == (0, 1000)
    assert early.width > 1
    assert len(probes) == 6
    assert narrow(jump, Bracket(0, 2**60, 0, 1000), 500, tie=999).width == 1
    assert narrow(jump, Bracket(0, 2**60, 0, 1000), 500, slack=1000).width == 2**60
