"""How used a node is and what one replica adds, as shares of the node."""

from fractions import Fraction

import pytest

from fairlead.levels.node.request import NodeRequest
from fairlead.levels.node.usage import derived, shares
from fairlead.model.nodes import Room

CPU = NodeRequest(amounts={"cpu": 500})

CASES = {
    "nothing is known": (Room(name="n"), CPU, (0, 0)),
    "a total that is not told is what is free": (Room(name="n", free={"cpu": 2000}), CPU, (0, Fraction(1, 4))),
    "used is what is not free": (Room(name="n", free={"cpu": 1500}, total={"cpu": 2000}), CPU, ("1/4", "1/4")),
    "more free than there is counts as unused": (
        Room(name="n", free={"cpu": 9}, total={"cpu": 4}),
        NodeRequest(),
        (0, 0),
    ),
    "a total of nothing says nothing": (Room(name="n", free={"cpu": 0}, total={"cpu": 0}), CPU, (0, 0)),
    "not told as free is all used": (Room(name="n", total={"cpu": 4000}), CPU, (1, "1/8")),
    "the highest share of any resource": (
        Room(name="n", free={"cpu": 1000, "memory": 1}, total={"cpu": 2000, "memory": 4}),
        NodeRequest(amounts={"cpu": 500, "memory": 2}),
        ("3/4", "1/2"),
    ),
    "a replica is one of the pods": (
        Room(name="n", free={"pods": 8}, total={"pods": 10}),
        NodeRequest(),
        ("1/5", "1/10"),
    ),
    "a replica asks for nothing of what it does not name": (Room(name="n", total={"disk": 2}), CPU, (1, 0)),
    "cores by free pieces": (
        Room(name="n", cores={"0": 100, "1": 50}),
        NodeRequest(pieces=50),
        ("1/4", "1/4"),
    ),
    "cpu that is not bound counts on cores too": (
        Room(name="n", cores={"0": 100, "1": 100}),
        NodeRequest(amounts={"cpu": 500}),
        (0, "1/4"),
    ),
    "cores that hold more than their base are their own total": (
        Room(name="n", cores={"0": 200, "1": 200}),
        NodeRequest(pieces=100),
        (0, "1/4"),
    ),
}


@pytest.mark.parametrize(("room", "request_", "want"), CASES.values(), ids=CASES.keys())
def test_usage_and_rate_of_a_node(room: Room, request_: NodeRequest, want: tuple[str | int | Fraction, ...]) -> None:
    """Both are exact fractions of 1."""
    usage, rate = derived(room, request_)
    assert (Fraction(*usage), Fraction(*rate)) == tuple(map(Fraction, want))


def test_shares_have_one_exact_denominator() -> None:
    """Thirds and quarters are twelfths."""
    found = shares([((1, 3), (1, 4)), ((0, 1), (1, 1))])
    assert (found.usage, found.rate, found.scale) == ((4, 0), (3, 12), 12)


def test_shares_without_a_common_denominator_are_rounded_half_up() -> None:
    """Denominators that have no small common multiple are told in parts of 10¹⁵."""
    primes = (1_000_003, 1_000_033, 1_000_037)
    found = shares([((1, prime), (1, 2)) for prime in primes])
    assert found.scale == 10**15
    assert found.usage == tuple(round(Fraction(10**15, prime)) for prime in primes)
    assert set(found.rate) == {5 * 10**14}
