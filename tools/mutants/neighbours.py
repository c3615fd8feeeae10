"""Which tests are near a module, without a recording: those whose file imports it, or what imports it."""

from pathlib import Path, PurePath

from tools.mutants.importers import importers
from tools.mutants.serving import Collected

FARTHEST = 4
"""Steps from a module to a test file, each an import; farther tests hardly look at it."""


def neighbours(root: Path, path: str, collected: list[Collected]) -> list[str]:
    """Tests of files of the module's own name first, then of those that import it, then of those further away.

    Among equals, tests that draw examples come last, for they take longer.
    """
    steps = _steps(root, path)
    name = PurePath(path).stem

    def distance(each: Collected) -> tuple[int, bool, bool]:
        file = each["test"].split("::")[0]
        return steps[file], name not in PurePath(file).stem, each["drawn"]

    near = [each for each in collected if each["test"].split("::")[0] in steps]
    return [each["test"] for each in sorted(near, key=distance)]


def _steps(root: Path, path: str) -> dict[str, int]:
    """How many imports lie between the module and each file that reaches it."""
    steps = {path: 0}
    edge = [path]
    for step in range(1, FARTHEST + 1):
        found = frozenset().union(*(importers(root, each) for each in edge if each.startswith("src/")))
        edge = sorted(found - steps.keys())
        steps |= dict.fromkeys(edge, step)
    return steps
