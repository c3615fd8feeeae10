"""Random samples of changes: the seed orders all places, so a larger sample begins with the smaller one.

A place is drawn by its module and its text and not by its number, so an edit elsewhere changes little in a sample.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path

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
    """The first `number` of all places in the order of the seed, each with one of its changes."""
    places: dict[tuple[str, int], list[Change]] = {}
    for change in everything:
        places.setdefault((change.path, change.start), []).append(change)
    seen: Counter[str] = Counter()
    drawn = []
    for there in places.values():
        name = f"{there[0].path}\0{there[0].text}\0{there[0].old}"
        seen[name] += 1
        ticket = int.from_bytes(sha256(f"{seed}\0{name}\0{seen[name]}".encode()).digest())
        drawn.append((ticket, there[ticket % len(there)]))
    return [change for _, change in sorted(drawn, key=lambda entry: entry[0])[:number]]
