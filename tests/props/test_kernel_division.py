"""What holds for every division, whatever the numbers."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kernel.apportion import webster
from fairlead.kernel.level import level

AMOUNTS = st.integers(0, 2**40)
SMALL = st.integers(0, 30)


def table(*columns: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Rows of independent values, at least one row."""
    return st.lists(st.tuples(*columns), min_size=1, max_size=12)


@given(table(AMOUNTS, AMOUNTS, SMALL), st.integers(0, 400))
def test_level_sums_to_what_there_is_and_keeps_caps(rows: list[tuple[int, ...]], units: int) -> None:
    """Σ counts = min(units, Σ cap); no count below 0 or above its cap; inputs stay as they were."""
    base, step, cap = np.array(rows).T.copy()
    kept = [base.copy(), step.copy(), cap.copy()]
    counts = level(units, base, step, cap)
    assert counts.sum() == min(units, cap.sum())
    assert ((counts >= 0) & (counts <= cap)).all()
    assert all((now == before).all() for now, before in zip((base, step, cap), kept, strict=True))


@given(table(SMALL, SMALL, SMALL), st.integers(0, 200))
def test_level_no_unit_would_stand_lower_elsewhere(rows: list[tuple[int, ...]], units: int) -> None:
    """The highest unit of any target is no higher than the next unit of a target that has room."""
    base, step, cap = np.array(rows).T
    counts = level(units, base, step, cap)
    highest = (base + step * counts)[counts > 0]
    following = (base + step * (counts + 1))[counts < cap]
    assert not len(highest) or not len(following) or highest.max() <= following.min()


@given(table(SMALL, SMALL, SMALL), st.integers(0, 100), st.integers(0, 100))
def test_level_more_units_never_take_one_away(rows: list[tuple[int, ...]], units: int, more: int) -> None:
    """House monotone: every target keeps what it had when there are more units."""
    base, step, cap = np.array(rows).T
    assert (level(units, base, step, cap) <= level(units + more, base, step, cap)).all()


@given(table(SMALL, SMALL, SMALL), st.integers(0, 100), st.randoms())
def test_level_and_webster_do_not_depend_on_row_order(rows: list[tuple[int, ...]], units: int, random: Random) -> None:
    """The same targets in another order get the same, given tie ranks without duplicates."""
    columns = np.array(rows).T
    order = np.array(random.sample(range(len(rows)), len(rows)))
    ranks = np.arange(len(rows))
    plain = level(units, *columns, tie_rank=ranks)
    assert (level(units, *(c[order] for c in columns), tie_rank=ranks[order]) == plain[order]).all()
    seats = webster(columns[0], units, initial=columns[1], caps=columns[1] + columns[2], tie_rank=ranks)
    shuffled = webster(
        columns[0][order],
        units,
        initial=columns[1][order],
        caps=(columns[1] + columns[2])[order],
        tie_rank=ranks[order],
    )
    assert (shuffled == seats[order]).all()


@given(table(AMOUNTS, SMALL, SMALL, SMALL), st.integers(0, 400))
def test_webster_sums_and_bounds(rows: list[tuple[int, ...]], units: int) -> None:
    """Σ = what units and caps allow; caps hold; minimums hold where the units cover them; weight 0 gets no more."""
    weights, initial, room, minimums = np.array(rows).T
    caps = initial + room
    new = webster(weights, units, initial=initial, caps=caps, minimums=minimums)
    owed = np.clip(minimums - initial, 0, room)
    most = np.where(weights > 0, room, owed)
    assert new.sum() == min(units, most.sum())
    assert ((new >= 0) & (new <= most)).all()
    assert units < owed.sum() or (new >= owed).all()


@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=12), st.integers(0, 10**6))
def test_webster_quotients_agree_on_a_divisor(weights: list[int], units: int) -> None:
    """No row's last seat has a lower quotient than another row's next: w/(2s − 1) ≥ v/(2t + 1) for all pairs."""
    seats = webster(np.array(weights), units).tolist()
    rows = list(zip(weights, seats, strict=True))
    assert all(w * (2 * t + 1) >= v * (2 * s - 1) for w, s in rows if s for v, t in rows)
