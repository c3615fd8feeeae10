"""Read-only columns, the building blocks of every table."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlead.model.errors import InputError

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]
Codes = NDArray[np.uint8]
Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The array, with writing switched off: tables are shared, so no column may be changed in place."""
    array.flags.writeable = False
    return array


def longer(array: NDArray[Scalar], size: int, fill: int = 0) -> NDArray[Scalar]:
    """A writable copy with `size` rows, the new ones filled."""
    grown = np.full((size, *array.shape[1:]), fill, dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def ints(values: ArrayLike) -> Int:
    """A read-only int64 column; always a copy, so that the caller's own array stays writable and apart."""
    return frozen(np.array(values, dtype=np.int64))


def flags(values: ArrayLike) -> Bool:
    """A read-only column of truth values."""
    return frozen(np.array(values, dtype=np.bool_))


def totals(rows: Int) -> list[int]:
    """The exact sum of every column; halves are added apart, so that no sum wraps."""
    high, low = (rows >> 32).sum(axis=0).tolist(), (rows & 0xFFFFFFFF).sum(axis=0).tolist()
    return [(upper << 32) + lower for upper, lower in zip(high, low, strict=True)]


def distinct(names: Sequence[str], path: str) -> tuple[str, ...]:
    """The names as a tuple; a name that comes twice is bad input, told with the place of its second use."""
    seen: set[str] = set()
    for row, name in enumerate(names):
        if name in seen:
            raise InputError(f"{path}[{row}].name", f"{name!r} is there twice; expected distinct names")
        seen.add(name)
    return tuple(names)


def rows_where(mask: Bool, names: Sequence[str]) -> tuple[str, ...]:
    """The names of the first three rows at which the mask holds."""
    return tuple(names[int(row)] for row in np.flatnonzero(mask)[:3])


def lookup(names: Iterable[str]) -> dict[str, int]:
    """Name to row."""
    return {name: row for row, name in enumerate(names)}
