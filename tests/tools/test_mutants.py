"""The mutants: which changes there are, how they are drawn, and what becomes of them on a small tree."""

import ast
import subprocess
import sys
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tools.mutants import hits, probes, recording, report, tree
from tools.mutants.campaign import Campaign, End, Result
from tools.mutants.changes import changes
from tools.mutants.neighbours import neighbours
from tools.mutants.sample import population, sample
from tools.mutants.serving import Collected, take_over
from tools.mutants.trial import LATE, Bounds, Runner
from tools.mutants.warm import Warm

ROOT = Path(__file__).parents[2]


def texts(source: str) -> list[str]:
    """Every change as the source it makes."""
    return [change.apply(source.encode()).decode() for change in changes("m.py", source.encode())]


CASES = {
    "a boundary and a comparison": ("a < b", ["a <= b", "a >= b"]),
    "each sign of a chain": ("a == b is c", ["a != b is c", "a == b is not c"]),
    "a sign of two words": ("a not  in b", ["a in b"]),
    "a sum": ("a + b", ["a - b"]),
    "a sum in place": ("a += b", ["a -= b"]),
    "a sign behind brackets": ("(a) - (b)", ["(a) + (b)"]),
    "a sign behind a comment with a sign": ("(a # 1 + 2\n + b)", ["(a # 1 + 2\n - b)"]),
    "each word of a row": ("a and b and c", ["a or b and c", "a and b or c"]),
    "a denial": ("not a", [" a"]),
    "a negative name": ("-a", ["+a"]),
    "a number goes up and down": ("f(0)", ["f((-1))", "f(1)"]),
    "letters before it may be wide": ("'…' == a", ["'…' != a"]),
    "truth is no number": ("f(True)", []),
    "texts are not counted": ("'a' + b", []),
    "types are left alone": ("def f(a: A | B = c) -> D | E: ...", []),
    "decorators are left alone": ("@cache(1)\ndef f(): ...", []),
    "f-strings are left alone": ("f'{a + 1}'", []),
    "what only type checkers read is left alone": ("if TYPE_CHECKING:\n    a = 1", []),
}


@pytest.mark.parametrize(("source", "want"), CASES.values(), ids=CASES.keys())
def test_changes_of_a_line(source: str, want: list[str]) -> None:
    """One operator or number at a time, and nothing that runs nowhere."""
    assert want == texts(source)


def test_a_change_knows_its_line_and_when_it_runs() -> None:
    """The head of a function runs at import, its body does not."""
    source = "A = 1\n\n\ndef f(a=2):\n    return g(\n        a,\n        3,\n    )\n"
    found = [(change.line, change.at_import) for change in changes("m.py", source.encode())]
    assert found[::2] == [(1, True), (4, True), (7, False)]
    assert changes("m.py", source.encode())[0].words() == "m.py:1:5 [number] 1 → 0"


def test_every_change_of_the_source_can_be_compiled() -> None:
    """On our own modules: a change is a program, not a mistake of grammar."""
    for change in sample(population(ROOT), 300, 5):
        ast.parse(change.apply((ROOT / change.path).read_bytes()))


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    """The seed alone decides; a place is drawn at most once."""
    everything = population(ROOT, "kernel/")
    small, large = sample(everything, 10, 3), sample(everything, 40, 3)
    assert large[:10] == small != sample(everything, 10, 4)
    assert len({(change.path, change.start) for change in large}) == 40


SMALL = {
    "src/fairlead/__init__.py": "",
    "src/fairlead/kernel/__init__.py": "",
    "src/fairlead/kernel/small.py": "def larger(a: int, b: int) -> int:\n    return a if a > b else b\n",
    "tests/test_small.py": (
        "from fairlead.kernel.small import larger\n\n\ndef test_larger() -> None:\n    assert larger(3, 2) == 3\n"
    ),
    "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['cluster', 'proof', 'install']\n",
}
"""A package with one function and one test: it notices a turned comparison and no moved boundary."""


def test_an_edit_elsewhere_leaves_a_sample_as_it_was() -> None:
    """Places are drawn by their text: a line above moves them and changes nothing else."""
    source = b"def f(a, b):\n    return a + b < 3 and not b\n"
    before, after = (sample(changes("m.py", text), 9, 1) for text in (source, b"import os\n\n" + source))
    assert [(each.old, each.new) for each in before] == [(each.old, each.new) for each in after]
    assert {each.line for each in before} == {2}
    assert {each.line for each in after} == {4}


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small package as a checkout of its own, with the tool in it."""
    root = tmp_path_factory.mktemp("tree")
    tools = [*(ROOT / "tools").glob("*.py"), *(ROOT / "tools" / "mutants").glob("*.py")]
    texts = SMALL | {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in tools}
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", "."], cwd=root, check=True)
    return root


def test_a_campaign_tells_killed_from_survived(
    small_tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What a test notices is killed, what none notices is listed with its place; the tree is left as it was."""
    monkeypatch.setattr(recording, "CACHE", tmp_path / "cache")
    before = tree.digest(small_tree, tree.files(small_tree))
    runner = Runner()
    drawn = population(small_tree)
    known = recording.recorded(small_tree, drawn, runner, 1)
    told: list[Result] = []
    results = Campaign(small_tree, known, runner).run(drawn, 2, told.append)
    assert [result.end for result in results] == [End.KILLED, End.SURVIVED]
    assert {report.line(result) for result in told} == {report.line(result) for result in results}
    [survivor] = report.survivors(results)
    assert survivor.change.words() == "src/fairlead/kernel/small.py:2:19 [boundary] > → >="
    assert report.summary(results).startswith("1 of 2 mutants killed (50.0 %)")
    assert tree.digest(small_tree, tree.files(small_tree)) == before


PROBED = {
    "one sign between two": ("a - b", 0, {(5, 0): False, (5, 1): True}),
    "a boundary": ("a < b", 0, {(1, 2): False, (2, 2): True}),
    "a sign that cannot be changed for these": ("a + b", 0, {("x", "y"): True}),
    "membership": ("a in b", 0, {(1, (1,)): True}),
    "a number": ("a if b else 3", 0, {(1, 1): False, (1, 0): True}),
    "a word of a row": ("a and b", 0, {(1, 1): True}),
    "a sum in a sum": ("a - (b - a)", 1, {(0, 5): False, (1, 5): True}),
    "a sign behind a comment": ("(a # < >\n\n < b)", 0, {(2, 2): True, (1, 2): False}),
}


@pytest.mark.parametrize(("expression", "number", "want"), PROBED.values(), ids=PROBED.keys())
def test_a_probe_tells_which_operands_make_a_difference(
    expression: str, number: int, want: dict[tuple[Any, Any], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is the one without the change, and all other probes of the line are in place."""
    source = f"def f(a, b):\n    return {expression}\n"
    drawn = list({change.start: change for change in reversed(changes("m.py", source.encode()))}.values())[::-1]
    heard: list[int] = []
    monkeypatch.setattr(hits, "hit", heard.append)
    monkeypatch.setitem(sys.modules, probes.MODULE, hits)
    plain: dict[str, Any] = {}
    there: dict[str, Any] = {}
    exec(source, plain)
    exec(probes.probed(source.encode(), list(enumerate(drawn))), there)
    for operands, differs in want.items():
        heard.clear()
        assert there["f"](*operands) == plain["f"](*operands)
        assert (number in heard) is differs


def test_without_a_recording_the_tests_that_import_the_module_are_run(small_tree: Path) -> None:
    """The same ends, and no other test is chosen."""
    results = Campaign(small_tree, None, Runner()).run(population(small_tree), 1, lambda result: None)
    assert [(result.end, result.tests) for result in results] == [(End.KILLED, 1), (End.SURVIVED, 1)]


def test_a_test_that_fails_without_any_change_kills_nothing(small_tree: Path) -> None:
    """It is left out, and the others decide."""
    (small_tree / "tests" / "test_broken.py").write_text("def test_broken() -> None:\n    assert False\n")
    name, broken = "src/fairlead/kernel/small.py", "tests/test_broken.py::test_broken"
    source = (small_tree / name).read_bytes()
    turned, moved = changes(name, source)[::-1]
    copy = Warm(small_tree, Runner())
    try:
        copy.start()
        tests = [broken, "tests/test_small.py::test_larger"]
        answers = [copy.tried(change, source, tests, Bounds(60.0, 60.0, 60.0)) for change in (moved, turned)]
    finally:
        copy.stop()
        (small_tree / "tests" / "test_broken.py").unlink()
    assert [(answer["code"], answer["test"]) for answer in answers] == [(1, tests[1]), (0, "")]


def test_tests_near_a_module_come_by_their_distance() -> None:
    """Of its own name, of those that import it, of those that import what imports it; nothing else."""
    files = {
        "src/fairlead/kernel/deep.py": "",
        "src/fairlead/levels/over.py": "from fairlead.kernel import deep",
        "tests/test_deep.py": "from fairlead.kernel.deep import x",
        "tests/test_a.py": "from fairlead.kernel.deep import x",
        "tests/test_over.py": "from fairlead.levels.over import y",
        "tests/test_other.py": "import fairlead",
    }
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text)
        made = [("over", False), ("a", True), ("a", False), ("other", False), ("deep", True)]
        tests = [Collected(test=f"tests/test_{name}.py::t{drawn}", drawn=drawn) for name, drawn in made]
        chosen = neighbours(Path(folder), "src/fairlead/kernel/deep.py", tests)
    assert [each.removeprefix("tests/test_") for each in chosen] == [
        "deep.py::tTrue",
        "a.py::tFalse",
        "a.py::tTrue",
        "over.py::tFalse",
    ]


def test_a_fork_takes_over_functions_that_were_imported_before(tmp_path: Path) -> None:
    """Also functions in functions, those that keep their results and those that were taken out of their module."""
    path = tmp_path / "m.py"
    before = "from functools import cache\n@cache\ndef f(a):\n    return (lambda: a + 1)()\ndef g(a):\n    return a\n"
    there: dict[str, Any] = {}
    exec(compile(before, str(path), "exec"), there)
    taken = there["f"]
    assert taken(5) == 6
    assert take_over(path, before, before.replace("+", "-")) == 1
    assert (taken(5), there["g"](5)) == (4, 5)


def test_a_fork_passes_over_proxies_of_what_is_gone(tmp_path: Path) -> None:
    """Whatever else the process has made: a proxy that stands for nothing any more cannot even say what it is."""

    class Gone:
        pass

    stands_for_nothing = weakref.proxy(Gone())
    assert take_over(tmp_path / "m.py", "a = 1\n", "a = 2\n") == 0
    with pytest.raises(ReferenceError):
        isinstance(stands_for_nothing, Gone)


def test_a_trial_that_does_not_end_in_its_time_is_late_and_the_next_one_is_tried(small_tree: Path) -> None:
    """The process is started anew."""
    name, test = "src/fairlead/kernel/small.py", "tests/test_small.py::test_larger"
    source = (small_tree / name).read_bytes()
    turned = changes(name, source)[0]
    copy = Warm(small_tree, Runner())
    try:
        codes = []
        for seconds in (0.0, 60.0):
            copy.start()
            codes.append(copy.tried(turned, source, [test], Bounds(60.0, seconds, 60.0))["code"])
    finally:
        copy.stop()
    assert codes == [LATE, 1]
    assert not copy.runner.running


def test_a_run_that_does_not_end_in_its_time_is_ended(small_tree: Path) -> None:
    """Its code says so, and nothing of it is left running."""
    runner = Runner()
    assert runner.pytest(small_tree, ["tests"], {}, 0.0) == LATE
    assert not runner.running


def test_a_stopped_runner_starts_nothing_more(small_tree: Path) -> None:
    """After an interrupt the runs that were still waiting do not begin."""
    runner = Runner()
    runner.stop()
    with pytest.raises(InterruptedError):
        runner.pytest(small_tree, ["tests"], {}, 0.0)


def test_a_page_lists_the_survivors(tmp_path: Path) -> None:
    """With the command that draws the same sample again."""
    (tmp_path / "docs" / "proof").mkdir(parents=True)
    up, down = changes("m.py", b"f(1)")
    page = report.write_page(tmp_path, [Result(up, End.KILLED, 3), Result(down, End.SURVIVED, 3)], 9)
    text = page.read_text(encoding="utf-8")
    assert "`make mutants N=2 SEED=9`: 1 of 2 mutants killed (50.0 %)" in text
    assert "| number | 2 | 1 |" in text
    assert f"- `{down.words()}`" in text
    assert up.words() not in text
