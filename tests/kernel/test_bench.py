"""The benchmark runner: groups are found, times are the least of several, tables are aligned."""

from importlib.util import find_spec
from io import StringIO

import pytest
from bench import GROUPS
from bench.__main__ import main
from bench.measure import Report, best, milliseconds, ratio, side_by_side


def test_list_names_every_group(capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` prints one line a group, and each group is a module."""
    assert main(["--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(GROUPS)
    assert all(find_spec(f"bench.{name}") for name in GROUPS)


def test_unknown_group_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that does not exist: one line on standard error, exit code 2."""
    assert main(["kernels", "nonsense"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("no such group: nonsense (there are: ")


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
