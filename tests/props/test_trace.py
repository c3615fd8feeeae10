"""A trace read as columns and line by line: the same arrivals, or the same lines named."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.sim import table as tables
from fairlead.sim import trace
from fairlead.sim.trace import COLUMNS, read_trace

GOOD = {
    "time": ["0", "5", "90s", " 5m ", "1.5h"],
    "workload": ["a", "b c", "ü", "a"],
    "replicas": ["", "1", "20", " 3"],
    "cpu": ["", "1", "250m", "0.5"],
    "memory": ["", "1Gi", "512Mi"],
    "duration": ["", "60", "2h"],
    "namespace": ["", "shop", "ml "],
    "queue": ["", "batch"],
    "tier": ["", "spot", "on-demand", "50%", "3"],
}
BAD = ["x", "-1", '"q"', "\u2028", "a\x1fb", "1e400", "\x0b"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """CSV of any columns in any order; now and then a cell, a line or an end that is not plain."""
    more = draw(st.lists(st.sampled_from(COLUMNS[2:]), unique=True))
    names = draw(st.permutations(["time", "workload", *more]))
    odd = draw(st.booleans())
    lines = [",".join(name.upper() if draw(st.booleans()) else name for name in names)]
    for _ in range(draw(st.integers(0, 5))):
        cells = [draw(st.sampled_from(GOOD[name] + (BAD if odd else []))) for name in names]
        line = ",".join(cells)
        lines.append(
            draw(st.sampled_from([line, line, line, "", " , ", line + ",", line.rpartition(",")[0]] if odd else [line]))
        )
    end = draw(st.sampled_from(["\n", "\r\n"] if odd else ["\n"]))
    return end.join(lines) + draw(st.sampled_from(["", "\n"]))


def read(text: str, *, large: int) -> object:
    """The arrivals and errors, or the error that ended it, as values that can be compared."""
    before, trace.LARGE = trace.LARGE, large
    try:
        arrivals, errors = read_trace(text.encode(), "day.csv")
        return arrivals, [(error.path, error.message) for error in errors]
    except InputError as error:
        return error.path, error.message
    finally:
        trace.LARGE = before


@given(texts())
@example("time,workload\n1,a\n")
@example("time,workload,cpu\n1,a,\n,,\n2,b,1\n")
@example("time\n1\n")
@example("time,workload,time\n1,a,2\n")
def test_columns_and_lines_say_the_same(text: str) -> None:
    """With polars and without, on every text."""
    pytest.importorskip("polars")
    assert read(text, large=0) == read(text, large=2**40)


def test_plain_text_is_read_as_columns_and_only_that() -> None:
    """The quick road is taken where it should be, and left where it must be."""
    pytest.importorskip("polars")
    assert tables.table("time,workload\n1, a\n\n2,b") == {"time": ["1", "2"], "workload": ["a", "b"]}
    for text in (
        "time,workload\n",
        "\ntime,workload\n1,a",
        'time,workload\n1,"a"',
        "time,workload\n1,a,b\n",
        "a,b\n\u2028,1",
    ):
        assert tables.table(text) is None


def test_without_polars_lines_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same arrivals, line by line."""
    text = "time,workload,replicas\n1,a,2\n3,b,\n"
    quick = read(text, large=0)
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    assert tables.table(text) is None
    assert read(text, large=0) == quick
