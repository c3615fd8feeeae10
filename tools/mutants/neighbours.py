"""Which tests are near a module, without a recording: those whose file imports it, or what imports it."""

from pathlib import Path, PurePath

from tools.mutants.importers import importers
from tools.mutants.serving import Collected


def neighbours(root: Path, path: str, collected: list[Collected]) -> list[str]:
    """Tests of files of the module's own name first, then of those that import it, then of those one further.

    Among equals, tests that draw examples come last, for they take longer.
    """
    near = importers(root, path)
    further = frozenset().union(*(importers(root, each) for each in near if each.startswith("src/")))
    name = PurePath(path).stem

    def distance(each: Collected) -> tuple[int, bool]:
        file = each["test"].split("::")[0]
        if file in near:
            return (0 if name in PurePath(file).stem else 1), each["drawn"]
        return (2 if file in further else 3), each["drawn"]

    return [each["test"] for each in sorted(collected, key=distance) if distance(each)[0] < 3]
