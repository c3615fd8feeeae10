"""What all runs came to: one line a run in docs/proof/campaign.jsonl, and the page made from it."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.campaign.fuzzing import Fuzzed

if TYPE_CHECKING:
    from tests.campaign.soak import Soaked

PROOF = Path(__file__).parents[2] / "docs" / "proof"
WANTED = {"faults": 1_000, "admissions": 100_000, "inputs": 1_000_000}
"""What the campaign is to reach before a release, over all its runs."""

Run = dict[str, Any]
"""kind, date, seed, minutes, counts (by name), found (sentences)."""


def fuzz_run(found: Fuzzed) -> Run:
    """A run of fuzzing as a record."""
    ends = {f"{target}: {end}": number for target, each in found.ends.items() for end, number in sorted(each.items())}
    first, last = found.memory_mib
    return {
        "kind": "fuzz",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seed": found.seed,
        "minutes": round(found.seconds / 60, 1),
        "counts": {"inputs": found.inputs, **ends},
        "found": [*found.defects[:20], *([f"and {len(found.defects) - 20} more"] if len(found.defects) > 20 else [])],
        "memory": f"{first:.0f} MiB after a tenth, {last:.0f} MiB at the end",
    }


def soak_run(found: "Soaked") -> Run:
    """A run through faults as a record."""
    sizes = ", ".join(f"{name} {size:.0f} MiB" for name, size in sorted(found.largest_mib.items()))
    return {
        "kind": "soak",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seed": found.seed,
        "minutes": round(found.seconds / 60, 1),
        "counts": {
            "faults": found.faults.total(),
            "admissions": found.admissions,
            "through the API server": found.admitted,
            "posted to a webhook": found.posted,
            "quiet points": found.quiet_points,
            "pods the oracle was asked about": found.asked,
            "writes compared with a lease": found.leader_writes,
            **dict(found.faults.most_common()),
        },
        "found": found.found,
        "memory": f"largest: {sizes}",
    }


def add(run: Run, folder: Path = PROOF) -> None:
    """Append the run and write the page anew."""
    lines = folder / "campaign.jsonl"
    with lines.open("a") as file:
        file.write(json.dumps(run, ensure_ascii=False) + "\n")
    (folder / "campaign.md").write_text(page(json.loads(line) for line in lines.read_text().splitlines()))


def page(runs: Iterable[Run]) -> str:
    """All runs as Markdown: totals beside what is wanted, then a row a run, then what was found."""
    every = list(runs)
    total: Counter[str] = Counter()
    for run in every:
        total.update(run["counts"])
    rows = [f"| {name} | {total[name]:,} | {least:,} |" for name, least in WANTED.items()]
    return "\n".join(
        [
            "# The campaign",
            "",
            "Random faults and random inputs, added up over runs of `make soak` and `make fuzz`.",
            "Each run is a line of `campaign.jsonl`.",
            "",
            *("| what | so far | wanted |", "|---|---|---|", *rows),
            "",
            *("| date | kind | seed | minutes | counts | defects |", "|---|---|---|---|---|---|"),
            *map(_row, every),
            "",
            *_found(every),
        ]
    )


def _row(run: Run) -> str:
    counts = ", ".join(f"{name} {number:,}" for name, number in run["counts"].items())
    memory = f"; {run['memory']}" if run.get("memory") else ""
    return (
        f"| {run['date']} | {run['kind']} | {run['seed']} | {run['minutes']} | {counts}{memory} | {len(run['found'])} |"
    )


def _found(runs: list[Run]) -> list[str]:
    said = [f"- {run['date']}, seed {run['seed']}: {_one_line(each)}" for run in runs for each in run["found"]]
    return ["## What was found", "", *said, ""] if said else ["Nothing was found.", ""]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300].replace("|", "\\|")
