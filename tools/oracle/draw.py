"""Random choices, all from one seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Raw = dict[str, Any]
"""An object of the API, or a part of one, as JSON has it."""


class Draw:
    """A source of choices. Equal seeds give equal clusters, whatever the Python version hashes."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self._random.random() < share

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return self._random.choice(options)

    def some(self, options: Iterable[T], most: int, least: int = 0) -> list[T]:
        """Between `least` and `most` different options, in random order."""
        listed = list(options)
        count = min(self._random.randint(least, most), len(listed))
        return self._random.sample(listed, count)

    def number(self, least: int, most: int) -> int:
        """A whole number within the bounds, both included."""
        return self._random.randint(least, most)

    def part(self, mapping: Raw, share: float) -> Raw:
        """Each entry with this chance."""
        return {key: value for key, value in mapping.items() if self.chance(share)}
