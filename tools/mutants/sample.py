"""Random samples of changes: a seed gives one order on one tree, so a larger sample begins with the smaller one."""

from pathlib import Path
from random import Random

from tools.mutants.changes import Change, changes

PACKAGES = ("levels", "kernel", "engine", "model", "kube", "live", "problems", "sim")


def population(root: Path, under: str = "") -> list[Change]:
    """Every change in the packages that decide or act, where the path contains `under`."""
    found: list[Change] = []
    for package in sorted(PACKAGES):
        for file in sorted((root / "src" / "fairlead" / package).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            if under in path:
                found += changes(path, file.read_bytes())
    return found


def sample(everything: list[Change], number: int, seed: int) -> list[Change]:
    """The first `number` of all places in a shuffled order, each with one of its changes."""
    places: dict[tuple[str, int], list[Change]] = {}
    for change in everything:
        places.setdefault((change.path, change.start), []).append(change)
    random = Random(seed)
    drawn = [random.choice(there) for there in places.values()]
    random.shuffle(drawn)
    return drawn[:number]
