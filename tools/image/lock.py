"""Which packages run: those that Fairlead with its live half and spans requires, and theirs, as the lock pins them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path

EXTRAS = ("live", "otel")
"""What the image runs with: spans are a value of the chart away, and cost nothing while they are off."""
LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A package of the lock: its name, version and the hashes of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]

    def line(self) -> str:
        """As it stands in the lock."""
        return " \\\n    ".join([f"{self.name}=={self.version}", *(f"--hash={each}" for each in self.hashes)])


def pins(text: str) -> Iterator[Pin]:
    """Every package of a lock file."""
    for entry in re.finditer(r"^([\w.-]+)==(\S+)((?: \\\n\s+--hash=\S+)*)", text, re.MULTILINE):
        yield Pin(name=entry[1], version=entry[2], hashes=tuple(re.findall(r"--hash=(\S+)", entry[3])))


def runtime(text: str) -> list[Pin]:
    """Those of the lock that a component needs to run."""
    needed = set().union(*(_required("fairlead", extra) for extra in EXTRAS))
    return [pin for pin in pins(text) if canonical(pin.name) in needed]


def canonical(name: str) -> str:
    """One spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _required(name: str, extra: str) -> set[str]:
    """The names of all that a package requires, with one extra of its own, on this Python and system."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    waiting = [(name, extra)]
    while waiting:
        package, chosen = waiting.pop()
        for line in requires(package) or ():
            each = Requirement(line)
            if each.marker and not each.marker.evaluate({"extra": chosen}):
                continue
            if canonical(each.name) not in found:
                found.add(canonical(each.name))
                waiting += [(each.name, option) for option in (each.extras or {""})]
    return found
