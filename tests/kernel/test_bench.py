"""The benchmark runner: groups are found, times are the least of several, tables are aligned."""

from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
from bench import GROUPS, table
from bench.__main__ import main
from bench.goals import GOALS, Figure, Goal
from bench.measure import Report, best, milliseconds, ratio, side_by_side
from tools.controlplane import build


def test_list_names_every_goal_and_group(capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` prints one line a goal and one a group; no name is both, and each group is a module."""
    assert main(["--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [*GOALS, *GROUPS]
    assert len(listed) == len(set(listed))
    assert all(find_spec(f"bench.{name}") for name in GROUPS)


@pytest.mark.parametrize("name", GOALS)
def test_every_goal_names_a_function_that_is_there(name: str) -> None:
    """The function is found by its text; it takes nothing."""
    module, function = GOALS[name].where.split(":")
    source = Path(find_spec(f"bench.{module}").origin).read_text()
    assert f"\ndef {function}() -> Figure:\n" in source


def goal(bound: float, *, more: bool = False) -> Goal:
    """One whose figures are made up."""
    return Goal(work="work", unit="ms", bound=bound, where="none:none", more=more)


def figure(*values: float, note: str = "") -> Figure:
    """A figure at sizes called a, b, c."""
    return Figure(sizes=tuple("abc"[: len(values)]), values=values, note=note)


@pytest.mark.parametrize(
    ("asked", "last", "met"),
    [
        (goal(40), 40, True),
        (goal(40), 40.1, False),
        (goal(18, more=True), 18, True),
        (goal(18, more=True), 17.9, False),
    ],
)
def test_a_goal_is_about_the_last_size(asked: Goal, last: float, met: bool) -> None:
    """The bound itself is enough; smaller sizes do not count."""
    assert asked.met(figure(0, 1000, last)) is met


def test_figures_are_kept_between_days_and_goals_not_measured_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded again replaces its goal only; the page has a row for every goal."""
    monkeypatch.setattr(table, "GOALS", {"one": goal(5), "two": goal(1), "three": goal(1)})
    table.record({"one": table.Measured(figure=figure(1, 2), date="2026-01-01")}, tmp_path)
    old = table.Measured(figure=figure(2, note="beside"), date="2026-01-02")
    table.record({"two": old}, tmp_path)
    page = table.record({"one": table.Measured(figure=figure(1, 4), date="2026-01-03")}, tmp_path)
    assert table.recorded(tmp_path)["two"] == old
    assert page.read_text().splitlines()[-3:] == [
        "| work | a → b | 1 → 4 ms | 4× | ≤ 5 ms | met |  | 2026-01-03 |",
        "| work | a | 2 ms |  | ≤ 1 ms | falls short | beside | 2026-01-02 |",
        "| work |  |  |  | ≤ 1 ms | not measured |  |  |",
    ]


def test_the_table_names_what_falls_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the rows that were measured."""
    monkeypatch.setattr(table, "GOALS", {"one": goal(5), "two": goal(1), "three": goal(1)})
    stream = StringIO()
    found = {name: table.Measured(figure=figure(3), date="today") for name in ("one", "two")}
    table.print_table(found, Report(stream))
    assert stream.getvalue().endswith("\nfalls short: two\n")
    assert len(stream.getvalue().splitlines()) == 2 + 1 + 2 + 2


def test_live_goals_are_skipped_with_the_reason_where_there_is_no_control_plane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sentence says what is missing; nothing is measured."""
    asked = Goal(work="work", unit="ms", bound=1, where="none:none", live=True)
    monkeypatch.setattr(table, "GOALS", {"one": asked})
    monkeypatch.setattr(build, "obstacle", lambda: "no Go")
    stream = StringIO()
    assert table.measure(["one"], Report(stream)) == {}
    assert stream.getvalue() == "one: skipped: no Go\n"


def test_unknown_group_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that does not exist: one line on standard error, exit code 2."""
    assert main(["kernels", "nonsense"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("no such goal or group: nonsense (")


def test_side_by_side_takes_turns_and_keeps_the_least() -> None:
    """Contestants alternate; each one's fastest call counts; a contestant over its budget is not called again."""
    now, called = 0.0, []
    lengths = {"fast": iter([3.0, 1.0, 2.0]), "slow": iter([9.0])}

    def contestant(name: str) -> None:
        nonlocal now
        called.append(name)
        now += next(lengths[name])

    calls = {name: lambda name=name: contestant(name) for name in lengths}
    assert side_by_side(calls, repeats=3, budget_s=8.0, clock=lambda: now) == {"fast": 1.0, "slow": 9.0}
    assert called == ["fast", "slow", "fast", "fast"]


def test_best_is_the_least_of_one() -> None:
    """One contestant alone."""
    ticks = iter([0.0, 2.0, 2.0, 3.0])
    assert best(lambda: None, repeats=2, clock=lambda: next(ticks)) == 1.0


def test_table_is_aligned_to_the_right() -> None:
    """A blank line, the title, then columns as wide as their widest cell."""
    stream = StringIO()
    Report(stream).table("title", ("n", "time"), [("100", "1 ms"), ("5", "12 ms")])
    assert stream.getvalue() == "\ntitle\n  n   time\n100   1 ms\n  5  12 ms\n"


def test_times_and_ratios_have_few_digits() -> None:
    """Enough to compare, not more."""
    assert [milliseconds(s) for s in (0.00012345, 0.0123456, 2.5)] == ["0.123 ms", "12.3 ms", "2500 ms"]
    assert [ratio(3.0, 2.0), ratio(500.0, 2.0)] == ["1.5×", "250×"]
