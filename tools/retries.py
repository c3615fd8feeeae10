"""Tests on real servers, with one retry that hides nothing: `python -m tools.retries KEPT -- ARGUMENTS OF PYTEST`.

Real servers on a busy machine may be late. So tests that failed (exit code 1, nothing else) run once more, alone. Those
that pass then are kept in a file with their date: a test that is in it already is not run again, for a race that shows
one time in three would stay green for ever. Whoever mends the test removes its line (docs/decisions/0226).
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

FAILED = 1
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")

Pytest = Callable[[Sequence[str]], int]


def run(kept: Path, arguments: Sequence[str], pytest: Pytest, root: Path, today: str) -> int:
    """The exit code: of the first run, or of the retry where there was one."""
    code = pytest([*arguments, "--cache-clear"])
    failed = _last_failed(root)
    if code != FAILED or not failed:
        return code
    print("retries: failed first:", *failed, sep="\n  ", flush=True)
    if known := [test for test in failed if test in _names(kept)]:
        print(
            f"retries: not the first time, so not run again; mend it and remove its line in {kept}:", *known, sep="\n  "
        )
        return code
    again = pytest([*arguments, "--last-failed", "--last-failed-no-failures", "none"])
    _keep(kept, [test for test in failed if test not in _last_failed(root)], today)
    return again


def shown(kept: Path) -> str:
    """What needed a retry so far, for the end of `make test`."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    return "\n  ".join([f"retries: {len(lines)} tests failed first and passed then, ever ({kept}):", *lines])


def _last_failed(root: Path) -> list[str]:
    file = root / LAST_FAILED
    return sorted(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []


def _names(kept: Path) -> set[str]:
    """Each line is a date, a space and a test."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    return {line.partition(" ")[2] for line in lines}


def _keep(kept: Path, passed: Sequence[str], today: str) -> None:
    with kept.open("a", encoding="utf-8") as file:
        file.writelines(f"{today} {test}\n" for test in passed)


def _pytest(arguments: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def main() -> int:
    """`KEPT --shown` prints the file; `KEPT -- …` runs pytest."""
    kept, mode, *arguments = Path(sys.argv[1]), *sys.argv[2:]
    if mode == "--shown":
        print(shown(kept))
        return 0
    return run(kept, arguments, _pytest, Path.cwd(), datetime.now(UTC).strftime("%Y-%m-%d"))


if __name__ == "__main__":
    sys.exit(main())
