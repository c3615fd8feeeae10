"""The one table: every goal with its figures at growing sizes, beside the peers', and which fall short.

Figures that are recorded stay in docs/proof/speed.jsonl, the newest of each goal with its date, so that goals can be
measured on different days; the page beside it is written from them.
"""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.goals import GOALS, Figure, Goal
from bench.measure import Report

PROOF = Path(__file__).parent.parent / "docs" / "proof"
HEADERS = ("work", "sizes", "figures", "growth", "wanted", "", "beside it", "measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figure of a goal and the day on which it was measured."""

    figure: Figure
    date: str


def measure(names: Iterable[str], report: Report) -> dict[str, Measured]:
    """The named goals, one after another; those that need a control plane only where it can run."""
    found = {}
    for name in names:
        goal = GOALS[name]
        if goal.live and (why := _obstacle()):
            report.line(f"{name}: skipped: {why}")
            continue
        report.line(f"{name}: {goal.work} …")
        found[name] = Measured(figure=goal.measure(), date=datetime.now(UTC).date().isoformat())
    return found


def _obstacle() -> str | None:
    # The control plane is looked for only where a goal needs it.
    from tools.controlplane import build

    return build.obstacle()


def rows(found: Mapping[str, Measured]) -> list[tuple[str, ...]]:
    """One row a goal, in the order of the goals; a goal that was not measured has a row that says so."""
    return [_row(goal, found.get(name)) for name, goal in GOALS.items()]


def _row(goal: Goal, measured: Measured | None) -> tuple[str, ...]:
    wanted = f"{'≥' if goal.more else '≤'} {goal.bound:g} {goal.unit}"
    if measured is None:
        return (goal.work, "", "", "", wanted, "not measured", goal.peers, "")
    figure = measured.figure
    beside = "; ".join(filter(None, (goal.peers, figure.note)))
    verdict = "met" if goal.met(figure) else "falls short"
    sizes, values = " → ".join(figure.sizes), " → ".join(f"{value:.3g}" for value in figure.values)
    return (goal.work, sizes, f"{values} {goal.unit}", _growth(figure), wanted, verdict, beside, measured.date)


def _growth(figure: Figure) -> str:
    """How much more the last size takes than the one before it."""
    *_, before, last = (0.0, *figure.values)
    return f"{last / before:.2g}×" if before else ""


def print_table(found: Mapping[str, Measured], report: Report) -> None:
    """What was measured, and a line that names what falls short."""
    measured = [row for row in rows(found) if row[5] != "not measured"]
    report.table("speeds beside what is wanted", HEADERS, measured)
    short = [name for name, each in found.items() if not GOALS[name].met(each.figure)]
    report.line(f"\nfalls short: {', '.join(short) or 'nothing'}")


def recorded(folder: Path = PROOF) -> dict[str, Measured]:
    """The newest figure of each goal."""
    path = folder / "speed.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return {
        each["goal"]: Measured(
            date=each["date"],
            figure=Figure(sizes=tuple(each["sizes"]), values=tuple(each["values"]), note=each["note"]),
        )
        for each in records
    }


def record(found: Mapping[str, Measured], folder: Path = PROOF) -> Path:
    """Add the figures to those recorded, and write the page of today. Returns its path."""
    known = {**recorded(folder), **found}
    lines = [
        json.dumps({"goal": name, "date": each.date, **asdict(each.figure)}, ensure_ascii=False)
        for name, each in sorted(known.items())
        if name in GOALS
    ]
    (folder / "speed.jsonl").write_text("".join(f"{line}\n" for line in lines))
    page = folder / f"{datetime.now(UTC).date().isoformat()}-speed.md"
    page.write_text(_page(known))
    return page


def _page(known: Mapping[str, Measured]) -> str:
    table = [HEADERS, tuple("---" for _ in HEADERS), *rows(known)]
    lines = "".join(f"| {' | '.join(cells)} |\n" for cells in table)
    return _INTRODUCTION + lines


_MACHINE = f"{os.cpu_count()} shared cores, {platform.machine()}, Python {platform.python_version()}"
_INTRODUCTION = f"""# Speeds beside what is wanted

Written by `python -m bench --record` ({_MACHINE}). Pure work is measured in processor time of one core, the least of
several runs. What runs on a real API server is measured beside a bare loop of the same writes in the same run, because
the speed of a shared machine varies. *Sizes* grow from left to right, and the goal is about the last one; *growth* is
the last figure over the one before it.

"""
