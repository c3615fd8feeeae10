"""Memory and the cost of an event follow what is there, not what ever was."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.kube.codec import memo
from fairlead.live.cluster import rules
from fairlead.live.cluster.interning import Shared
from tests.live.churn import LIVES, STANDING, Churn, sizes

ROOT = Path(__file__).parents[2]
PODS, PARTS = 1_000_000, 10
SLACK = 24.0
"""MiB by which an allocator's arenas may differ from tenth to tenth."""


def calls(work: Callable[[], None]) -> int:
    """Calls made, of Python's functions and of C's: what the work costs, without a clock."""
    made = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever remembers a bounded number of things remembers few."""
    monkeypatch.setattr(memo, "MOST", 64)
    monkeypatch.setattr(rules, "MOST_KNOWN", 64)


@pytest.mark.usefixtures("small")
async def test_churn_leaves_nothing_behind() -> None:
    """Thousands of Jobs and hundreds of nodes later, no container has more entries than after the first few."""
    churn = Churn(most=32)
    churn.live(2 * STANDING * LIVES)
    before = most(churn)
    churn.live(10 * STANDING * LIVES)
    assert most(churn) < 1.05 * before


@pytest.mark.usefixtures("small")
async def test_churn_makes_no_event_dearer() -> None:
    """The calls that a pod's life takes are the same after thousands of others."""
    churn, turn = Churn(most=32), STANDING * LIVES
    churn.live(2 * turn)
    before = min(calls(lambda: churn.live(LIVES)) for _ in range(20))
    churn.live(10 * turn)
    after = min(calls(lambda: churn.live(LIVES)) for _ in range(20))
    assert after < 1.05 * before


def most(churn: Churn) -> int:
    """The most entries in all containers while every node is replaced a few times: what is bounded rises and falls."""
    found = []
    for _ in range(40):
        churn.live(2 * LIVES)
        found.append(sizes(churn.scheduler) + sizes(churn.records))
    return max(found)


def test_shared_gives_the_first_of_equal_values_and_forgets_what_is_not_asked_for() -> None:
    """Two generations: what is asked for stays the same object, the rest goes."""
    shared: Shared[tuple[int, ...]] = Shared(most=4)
    kept = shared[0, 0]
    for number in range(100):
        assert shared[number, 1] == (number, 1)
        assert shared[0, 0] is kept
        assert sizes(shared) <= 8 + 2 * 8, "eight pairs of numbers at most"


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_churn_of_a_million_pods_is_flat() -> None:
    """Memory after each tenth of a million pods, and what a pod costs; the page has the figures."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.live.churn", str(PODS), str(PARTS)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    page = ROOT / "docs" / "proof" / f"{time.strftime('%Y-%m-%d')}-scheduler-churn.md"
    page.write_text(
        "# Pods that come and go, proven\n\nWritten by `make proof`, on a machine of two cores. Each pod waits, is "
        f"bound, runs, ends and goes, and never comes again; a node is replaced every {LIVES} pods "
        "(`tests/live/churn.py`).\n\n| pods so far | MiB held | µs of CPU a pod |\n|---:|---:|---:|\n"
        + "".join(f"| {int(pods):,} | {float(held):.1f} | {float(each):.0f} |\n" for pods, held, each in rows)
    )
    held = [float(row[1]) for row in rows]
    assert max(held[1:]) - min(held[1:]) < SLACK
