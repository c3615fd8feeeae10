"""Natural order of names: `node2` before `node10`. Every tie that nothing else decides is decided by it."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_DIGITS = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[tuple[int, int, str], ...], str]


def natural_key(name: str) -> NaturalKey:
    """A sort key: runs of digits compare as numbers, before letters; equal keys fall back to the text itself."""
    parts = [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in _DIGITS.split(name) if part]
    return tuple(parts), name


def natural_sorted(names: Iterable[str]) -> list[str]:
    """The names in natural order."""
    return sorted(names, key=natural_key)


def natural_rank(names: Sequence[str]) -> NDArray[np.int64]:
    """For each row the place of its name in natural order; equal names keep their row order."""
    order = sorted(range(len(names)), key=lambda row: natural_key(names[row]))
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return rank
