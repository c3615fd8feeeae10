"""Order of names, columns, reasons and decisions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.columns import distinct, flags, ints, lookup, rows_where
from fairlead.model.decision import Decision, Draw, Rejection, Score, Trace, decision_record
from fairlead.model.errors import InputError
from fairlead.model.order import natural_key, natural_rank, natural_sorted
from fairlead.model.reasons import Cure, Reason, because

TIGHT = Reason(code="Tight", level="node", sentence="{missing} of {asked} do not fit", cure=Cure.ROOM)


def test_natural_order_counts_digits_as_numbers() -> None:
    """node2 comes before node10, and digits before letters."""
    assert natural_sorted(["node10", "node2", "node1", "a", "10", "9", "node"]) == [
        "9",
        "10",
        "a",
        "node",
        "node1",
        "node2",
        "node10",
    ]


def test_natural_order_tells_leading_zeros_apart() -> None:
    """Names that read as the same number still have one order."""
    assert natural_sorted(["n1", "n01"]) == natural_sorted(["n01", "n1"])


@given(st.lists(st.text(alphabet="ab019-", max_size=5), max_size=8))
def test_natural_rank_is_the_place_in_the_sorted_list(names: list[str]) -> None:
    """Rank and sort agree, whatever the names."""
    rank = natural_rank(names)
    assert sorted(rank.tolist()) == list(range(len(names)))
    assert [names[row] for row in np.argsort(rank)] == sorted(names, key=natural_key)


def test_columns_are_copies_that_nobody_can_write() -> None:
    """A table can be shared: writing to a column fails, writing to the source changes nothing."""
    source = np.array([1, 2, 3])
    column = ints(source)
    source[0] = 9
    assert column.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        flags([True])[0] = False


def test_distinct_names_the_second_use() -> None:
    """A name that comes twice is refused at its second place."""
    assert distinct(["a", "b"], "$.nodes") == ("a", "b")
    with pytest.raises(InputError, match="there twice") as caught:
        distinct(["a", "b", "a"], "$.nodes")
    assert caught.value.path == "$.nodes[2].name"


def test_rows_where_gives_the_first_few_names() -> None:
    """Three names are enough for a message."""
    assert rows_where(flags([True, False, True, True, True]), "abcde") == ("a", "c", "d")
    assert lookup(["x", "y"]) == {"x": 0, "y": 1}


def test_input_error_is_seen_from_the_enclosing_document() -> None:
    """The path of an inner error follows the place of its document."""
    error = InputError("$.a[0]", "wrong").within("file.json:3: $")
    assert (error.path, str(error)) == ("file.json:3: $.a[0]", "file.json:3: $.a[0]: wrong")
    assert str(InputError("", "wrong")) == "wrong"


def test_finding_fills_the_sentence_of_its_reason() -> None:
    """The numbers of the occurrence stand in the sentence of the kind."""
    finding = because(TIGHT, missing=2, asked=7)
    assert (finding.code, finding.sentence) == ("Tight", "2 of 7 do not fit")


def test_decision_record_has_every_part_of_the_trace() -> None:
    """Whatever the level recorded is in the JSON answer."""
    trace = Trace(
        considered=4,
        rejected=(Rejection(reason=TIGHT, count=2, names=("a", "b")),),
        scores=(Score(target="c", terms={"level": 3}),),
        kept={"c": 1},
        draws=(Draw(equals=("c", "d"), weights=(1, 1), key="uid", winners=("d",)),),
        notes=("kept the prior",),
    )
    record = decision_record(
        Decision(placements={"c": 1}, unplaced=2, finding=because(TIGHT, missing=2, asked=3), trace=trace)
    )
    assert record == {
        "placements": {"c": 1},
        "unplaced": 2,
        "reason": "Tight",
        "message": "2 of 3 do not fit",
        "cure": "room",
        "trace": {
            "considered": 4,
            "rejected": [{"reason": "Tight", "count": 2, "names": ["a", "b"]}],
            "scores": [{"target": "c", "level": 3}],
            "kept": {"c": 1},
            "draws": [{"equals": ["c", "d"], "weights": [1, 1], "key": "uid", "winners": ["d"]}],
            "notes": ["kept the prior"],
        },
    }


def test_decision_record_of_a_full_success_is_short() -> None:
    """Nothing rejected, nothing drawn: no empty lists, and the reason is null."""
    assert decision_record(Decision(placements={})) == {
        "placements": {},
        "unplaced": 0,
        "reason": None,
        "trace": {"considered": 0},
    }
