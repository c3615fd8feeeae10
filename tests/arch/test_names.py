"""Names explain themselves: each public class has one owner, modules use the field's words, cited decisions exist."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import fairlead
from tools import import_graph

SOURCE = Path(fairlead.__file__).parent
DECISIONS = SOURCE.parent.parent / "docs" / "decisions"
PRIVATE_WORDS = {
    "ground", "books", "entries", "fair", "turning", "duties", "marks", "upkeep", "look", "kept", "loads", "supply",
    "words", "teller", "known", "led", "rounds", "fewest", "choice", "crowd", "people", "wishes", "contest", "draws",
    "moments", "answers", "reading", "sites", "written", "told", "nobody",
}  # fmt: skip
"""Words that stood where the field has its own; no module is called so."""


PRIVATE_NAMES = {
    "books", "ground", "marks", "duties", "upkeep", "teller", "told", "nobody", "people", "crowd", "wishes", "moments",
    "contest",
}  # fmt: skip
"""Those of them that no name of the source has in it; the others are plain English beside another word."""


def definitions() -> dict[str, list[str]]:
    """Public classes of the project, with the modules that define one of that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(SOURCE)))
    return found


def test_each_public_class_has_one_owner() -> None:
    """A reader who meets a class name knows which class it is."""
    assert {name: owners for name, owners in definitions().items() if len(owners) > 1} == {}


def test_modules_use_the_words_of_the_field() -> None:
    """A private word does not come back as the name of a module."""
    found = [str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py")) if path.stem in PRIVATE_WORDS]
    assert found == []


def names(tree: ast.AST) -> set[str]:
    """Every name that a module defines: of classes, functions, parameters, attributes and variables."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def words(name: str) -> set[str]:
    """The words of a name, as of `WhyNobody` or `_books_of`."""
    return {each.lower() for each in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def test_words_of_a_name_are_found() -> None:
    """In every way in which names join words, and in every place where a name is defined."""
    assert [words(each) for each in ("WhyNobody", "_books_of", "MOST_KNOWN")] == [
        {"why", "nobody"},
        {"books", "of"},
        {"most", "known"},
    ]
    module = "class A:\n  async def b(self, c, *, d):\n    self.e = f = 1\n    for g in (h for h in i): j += 1"
    assert names(ast.parse(module)) == {"A", "b", "self", "c", "d", "e", "f", "g", "h", "j"}


def test_names_use_the_words_of_the_field() -> None:
    """No class, function, parameter, attribute or variable is called by a private word; a store is not `fair`."""
    found = [
        (str(path.relative_to(SOURCE)), name)
        for path in sorted(SOURCE.rglob("*.py"))
        for name in sorted(names(ast.parse(path.read_text())))
        if words(name) & PRIVATE_NAMES or (name.strip("_") == "fair" and "live" in path.relative_to(SOURCE).parts)
    ]
    assert found == []


def test_a_workload_is_what_a_user_wants_replicas_of() -> None:
    """Where the live scheduler means the ReplicaSet (StatefulSet, Job) of a pod it says controller."""
    below = [SOURCE / "live" / package for package in ("cluster", "queue", "scheduler")]
    found = [
        (path.name, name)
        for folder in below
        for path in sorted(folder.rglob("*.py"))
        for name in sorted(names(ast.parse(path.read_text())))
        if "workload" in words(name)
    ]
    assert found == []


RIDDLES = (
    "somebody",
    "whomever",
    "for whose sake",
    "would better",
    "goes on and on",
    "nobody's sake",
    "do so all the time",
    "nodes' word",
    "nobody's to share",
)
"""Phrases that made persons of pods, or riddles of rules; the words of the field took their place."""


def test_the_source_is_written_in_plain_english() -> None:
    """Docstrings, comments, messages and metric help say subject, verb and object."""
    found = [
        (str(path.relative_to(SOURCE)), phrase)
        for path in sorted(SOURCE.rglob("*.py"))
        for phrase in RIDDLES
        if phrase in path.read_text().lower()
    ]
    assert found == []


def test_decisions_that_the_source_cites_exist() -> None:
    """A comment that cites a decision leads to its page."""
    pages = {path.name[:4] for path in DECISIONS.glob("[0-9]*.md")}
    cited = {
        (number, str(path.relative_to(SOURCE)))
        for path in sorted(SOURCE.rglob("*.py"))
        for each in re.findall(r"docs/decisions/(\d{4}(?:(?:, | and )\d{4})*)", path.read_text())
        for number in re.findall(r"\d{4}", each)
    }
    assert cited
    assert {(number, place) for number, place in cited if number not in pages} == set()


def test_the_import_graph_is_drawn_as_it_is() -> None:
    """ARCHITECTURE.md shows the imports that the source has."""
    text = import_graph.PAGE.read_text()
    assert text == import_graph.page(text), "run: python -m tools.import_graph"


def test_packages_import_one_another_in_one_direction() -> None:
    """No package is below itself."""
    graph = import_graph.imports()
    assert [box for box in graph if box in import_graph.below(graph, box)] == []
