"""What a campaign found, for the terminal and as a page."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from tools.mutants.campaign import End, Result

PAGES = Path("docs") / "proof"


def table(results: list[Result]) -> str:
    """Changes and survivors by kind, in Markdown."""
    drawn = Counter(result.change.kind for result in results)
    alive = Counter(result.change.kind for result in survivors(results))
    rows = [f"| {kind} | {drawn[kind]} | {drawn[kind] - alive[kind]} |" for kind in sorted(drawn)]
    return "\n".join(["| kind | drawn | killed |", "|---|---|---|", *rows])


def summary(results: list[Result]) -> str:
    """One line: how many, and the share that was killed."""
    killed = len(results) - len(survivors(results))
    late = sum(result.end is End.LATE for result in results)
    share = 100 * killed / max(1, len(results))
    return f"{killed} of {len(results)} mutants killed ({share:.1f} %), {late} of them because a run did not end"


def survivors(results: list[Result]) -> list[Result]:
    """Those that no test noticed, by place."""
    alive = [result for result in results if result.end is End.SURVIVED]
    return sorted(alive, key=lambda result: (result.change.path, result.change.start))


def line(result: Result) -> str:
    """One result: the change, how many tests could have noticed, and the one that did."""
    return f"{result.change.words()} ({result.tests} tests){f', by {result.by}' if result.by else ''}"


def write_page(root: Path, results: list[Result], seed: int) -> Path:
    """A dated page under docs/proof."""
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    alive = "\n".join(f"- `{result.change.words()}`" for result in survivors(results)) or "None."
    head = f"# Mutants, {today}\n\n`make mutants N={len(results)} SEED={seed}`: {summary(results)}.\n"
    page = root / PAGES / f"{today}-mutants.md"
    page.write_text(f"{head}\n{table(results)}\n\n## Survivors\n\n{alive}\n", encoding="utf-8")
    return page
