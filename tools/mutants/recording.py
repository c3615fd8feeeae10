"""Which tests could notice which change: recorded in one run of all tests, kept outside the repository.

A test file that changed is recorded again alone; anything else that changed (the source, shared code of tests,
examples, the sample) makes a new recording. Names of tests that are gone stay in it: they are not found when tests are
chosen.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.mutants import plugin, probes, tree
from tools.mutants.changes import Change
from tools.mutants.trial import LATE, OTHERS, PURE, Runner

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fairlead" / "mutants"
HOURS = 2 * 3600.0
"""More than a recording takes on any machine."""


@dataclass(slots=True)
class Recording:
    """Seconds by test, and the tests to which each change makes a difference."""

    files: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    hits: dict[str, list[str]] = field(default_factory=dict)
    failing: list[str] = field(default_factory=list)

    def noticing(self, change: Change) -> list[str]:
        """The tests that could notice, the shortest first; none that fails without any change."""
        there = set(self.hits.get(_name(change), ())) & self.seconds.keys() - set(self.failing)
        return sorted(there, key=lambda test: (self.seconds[test], test))


def _name(change: Change) -> str:
    return f"{change.path}:{change.start} {change.new}"


def recorded(root: Path, changes: Sequence[Change], runner: Runner, workers: int) -> Recording:
    """The recording of this tree and these changes: the kept one, brought up to date."""
    names = [name for name in tree.files(root) if name.endswith((".py", ".yaml", ".json", ".toml"))]
    tests = {name: tree.digest(root, [name]) for name in names if Path(name).name.startswith("test_")}
    base = [name for name in names if name not in tests and not name.startswith(("tools/", "bench/"))]
    kept = CACHE / f"{tree.digest(root, base)[:16]}.json"
    known = Recording(**_read(kept))
    if any(_name(change) not in known.hits for change in changes):
        known = Recording()
    changed = [
        name for name, digest in tests.items() if known.files.get(name) != digest and not name.startswith(OTHERS)
    ]
    if changed:
        _record(root, known, changes, changed, runner, workers)
        known.files |= tests
        CACHE.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(_plain(known)), encoding="utf-8")
    return known


def _plain(known: Recording) -> dict[str, Any]:
    return {"files": known.files, "seconds": known.seconds, "hits": known.hits, "failing": known.failing}


def _record(
    root: Path, known: Recording, changes: Sequence[Change], files: list[str], runner: Runner, workers: int
) -> None:
    """Runs test files in a copy with probes, and adds what was seen."""
    print(f"mutants: recording which of {len(changes)} changes {len(files)} test files come to", flush=True)
    with tempfile.TemporaryDirectory(prefix="fairlead-mutants-") as folder:
        copy = tree.copy(root, Path(folder))
        probes.place(copy, changes)
        args = ["-m", PURE, "-n", str(workers), "--dist", "worksteal", *files]
        seen = copy / "seen.json"
        variables = {plugin.SEEN: str(seen), plugin.PROBED: probes.MODULE, "FAIRLEAD_HYPOTHESIS": "mutants"}
        code = runner.pytest(copy, args, variables, HOURS)
        if code == LATE or not seen.exists():
            log = (copy / "pytest.log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"mutants: the tests did not end:\n{log[-4000:]}")
        _add(known, changes, _read(seen), copy / probes.HITS)


def _add(known: Recording, changes: Sequence[Change], seen: dict[str, Any], hits: Path) -> None:
    known.seconds |= seen["seconds"]
    known.failing = sorted({*known.failing, *seen["failing"]})
    for test in seen["failing"]:
        print(f"mutants: fails without any change, left out: {test}", flush=True)
    found: dict[str, set[str]] = {_name(change): set(known.hits.get(_name(change), ())) for change in changes}
    names = [_name(change) for change in changes]
    for line in hits.read_text(encoding="utf-8").splitlines() if hits.exists() else ():
        number, _, test = line.partition("\t")
        found[names[int(number)]].add(test)
    known.hits |= {name: sorted(tests) for name, tests in found.items()}


def _read(file: Path) -> dict[str, Any]:
    """What a file says; nothing where there is none yet."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
