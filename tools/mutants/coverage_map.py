"""Which tests run which line: recorded once for a state of the source, kept outside the repository.

A test file that changed is recorded again alone; anything else that changed (the source, shared code of tests,
examples) makes a new recording. Names of tests that are gone stay in it: they are not found when tests are chosen.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coverage import CoverageData

from tools.mutants import plugin, tree
from tools.mutants.trial import OTHERS, PURE, Runner

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fairlead" / "mutants"
SETTINGS = """[run]
source = {source}
data_file = {data}
parallel = true
context = ${{PYTEST_CURRENT_TEST-}}
"""
"""Processes that tests start are measured too; their context is the test that pytest says is running."""
HOURS = 2 * 3600.0
"""More than a recording takes on any machine."""


@dataclass(slots=True)
class CoverageMap:
    """Tests by line, and seconds by test."""

    seconds: Mapping[str, float]
    _data: CoverageData
    _lines: dict[str, dict[int, frozenset[str]]] = field(default_factory=dict)

    def running(self, path: str, lines: Iterable[int]) -> set[str]:
        """The tests that run any of these lines."""
        known = self._of(path)
        return {test for line in lines for test in known.get(line, ())}

    def beside(self, path: str) -> set[str]:
        """The tests that run anything in a module after it was imported."""
        return self.running(path, self._of(path))

    def _of(self, path: str) -> dict[int, frozenset[str]]:
        if path not in self._lines:
            contexts = self._data.contexts_by_lineno(path)
            self._lines[path] = {line: frozenset(map(_test, names)) - {""} for line, names in contexts.items()}
        return self._lines[path]


def _test(context: str) -> str:
    """Contexts are tests with their phase: `tests/a.py::test_b|run`, and `tests/a.py::test_b (call)` in processes."""
    return context.rpartition(" (" if context.endswith(")") else "|")[0]


def recorded(root: Path, runner: Runner, workers: int) -> CoverageMap:
    """The map of this tree: the kept one, brought up to date."""
    names = [name for name in tree.files(root) if name.endswith((".py", ".yaml", ".json", ".toml"))]
    tests = {name: tree.digest(root, [name]) for name in names if Path(name).name.startswith("test_")}
    base = [name for name in names if name not in tests and not name.startswith(("tools/", "bench/"))]
    kept = CACHE / tree.digest(root, base)[:16]
    _refresh(root, kept, tests, runner, workers)
    data = CoverageData(str(kept / "coverage"))
    data.read()
    return CoverageMap(seconds=_read(kept / "seconds.json"), _data=data)


def _refresh(root: Path, kept: Path, tests: Mapping[str, str], runner: Runner, workers: int) -> None:
    known = _read(kept / "tests.json")
    changed = [name for name, digest in tests.items() if known.get(name) != digest and not name.startswith(OTHERS)]
    if not changed:
        return
    print(f"mutants: recording which lines {len(changed)} test files run", flush=True)
    kept.mkdir(parents=True, exist_ok=True)
    seconds = _record(root, kept, changed, runner, workers)
    (kept / "seconds.json").write_text(json.dumps(_read(kept / "seconds.json") | seconds), encoding="utf-8")
    (kept / "tests.json").write_text(json.dumps(dict(tests)), encoding="utf-8")


def _record(root: Path, kept: Path, changed: list[str], runner: Runner, workers: int) -> dict[str, float]:
    """Runs test files in a copy, adding to the kept coverage; fails loudly where a test fails without any change."""
    with tempfile.TemporaryDirectory(prefix="fairlead-mutants-") as folder:
        copy = tree.copy(root, Path(folder))
        data = copy / "coverage"
        settings = SETTINGS.format(source=copy / "src" / "fairlead", data=data)
        (copy / "coveragerc").write_text(settings, encoding="utf-8")
        args = ["-m", PURE, "-n", str(workers), "--dist", "worksteal", "--cov", "--cov-report="]
        args += ["--cov-config=coveragerc", "--cov-context=test", *changed]
        variables = {plugin.SECONDS: str(copy / "seconds.json"), plugin.MEASURED: str(copy / "coveragerc")}
        code = runner.pytest(copy, args, variables, HOURS)
        if code not in (0, 5):
            text = (copy / "pytest.log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"mutants: the tests fail without any change:\n{text[-4000:]}")
        for part in (data, *copy.glob("coverage.*")):
            _add(kept / "coverage", part, copy)
        return {test: float(seconds) for test, seconds in _read(copy / "seconds.json").items()}


def _add(kept: Path, data: Path, copy: Path) -> None:
    """Adds what was measured in a copy, by paths of the tree."""
    old, new = CoverageData(str(kept)), CoverageData(str(data))
    old.read()
    new.read()
    old.update(new, map_path=lambda path: Path(path).relative_to(copy).as_posix())


def _read(file: Path) -> dict[str, Any]:
    """What a file says; nothing where there is none yet."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
