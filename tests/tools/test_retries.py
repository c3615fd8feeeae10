"""The one retry of tests on real servers: what is retried, what is kept, and what is not retried again."""

import json
from collections.abc import Sequence
from pathlib import Path

from tools.retries import LAST_FAILED, run, shown

TODAY = "2026-11-18"


class Pytest:
    """A pytest that ends as told; each run is an exit code and what failed in it."""

    def __init__(self, root: Path, *runs: tuple[int, list[str]]) -> None:
        self._cache = root / LAST_FAILED
        self._runs = list(runs)
        self.asked: list[list[str]] = []

    def __call__(self, arguments: Sequence[str]) -> int:
        self.asked.append(list(arguments))
        code, failed = self._runs.pop(0)
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        self._cache.write_text(json.dumps(dict.fromkeys(failed, True)))
        return code


def test_all_pass_and_nothing_is_retried_or_kept(tmp_path: Path) -> None:
    """A green run is one run from a cleared cache."""
    pytest = Pytest(tmp_path, (0, []))
    assert run(tmp_path / "kept", ["tests/cluster"], pytest, tmp_path, TODAY) == 0
    assert pytest.asked == [["tests/cluster", "--cache-clear"]]
    assert not (tmp_path / "kept").exists()


def test_failed_test_that_passes_then_is_green_and_kept(tmp_path: Path) -> None:
    """The retry runs only what failed; what passed in it is kept with its date and shown."""
    pytest = Pytest(tmp_path, (1, ["a::late"]), (0, []))
    assert run(tmp_path / "kept", ["x"], pytest, tmp_path, TODAY) == 0
    assert pytest.asked[1] == ["x", "--last-failed", "--last-failed-no-failures", "none"]
    assert (tmp_path / "kept").read_text() == f"{TODAY} a::late\n"
    assert shown(tmp_path / "kept").endswith(f"{TODAY} a::late")


def test_test_that_fails_twice_is_red_and_not_kept(tmp_path: Path) -> None:
    """A plain failure stays one: only what a retry would have hidden is kept."""
    pytest = Pytest(tmp_path, (1, ["a::broken", "a::late"]), (1, ["a::broken"]))
    assert run(tmp_path / "kept", ["x"], pytest, tmp_path, TODAY) == 1
    assert (tmp_path / "kept").read_text() == f"{TODAY} a::late\n"


def test_kept_test_that_fails_again_is_not_retried(tmp_path: Path) -> None:
    """No test gets into the file twice: the second time is red at once."""
    (tmp_path / "kept").write_text("2026-11-01 a::late\n")
    pytest = Pytest(tmp_path, (1, ["a::late", "a::other"]))
    assert run(tmp_path / "kept", ["x"], pytest, tmp_path, TODAY) == 1
    assert len(pytest.asked) == 1
    assert (tmp_path / "kept").read_text() == "2026-11-01 a::late\n"


def test_other_exit_codes_are_not_retried(tmp_path: Path) -> None:
    """An interrupt, an internal error, a wrong argument or no test at all is no late server."""
    for code in (2, 3, 4, 5):
        pytest = Pytest(tmp_path, (code, ["a::late"]))
        assert run(tmp_path / "kept", ["x"], pytest, tmp_path, TODAY) == code
        assert len(pytest.asked) == 1


def test_nothing_kept_is_said(tmp_path: Path) -> None:
    """An empty history is shown as such."""
    assert "0 tests" in shown(tmp_path / "none")
