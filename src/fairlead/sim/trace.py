"""A trace in CSV: one line a workload.

Columns, by name in the first line, in any order: `time` (seconds from the start, or a length such as 5m), `workload`,
`replicas`, `cpu`, `memory`, `duration` (empty: stays), `namespace`, `queue`, `tier`. Only `time` and `workload` must be
there; others are optional, and columns of other names are refused.
"""

import csv
from collections.abc import Callable, Iterator
from typing import TypeVar

from fairlead.model.errors import InputError
from fairlead.model.selectors import integer
from fairlead.model.shape import Shape
from fairlead.sim.durations import milliseconds
from fairlead.sim.events import Arrival
from fairlead.sim.inputs import arrival, request_of, shape_of, tier_of
from fairlead.sim.table import table

COLUMNS = ("time", "workload", "replicas", "cpu", "memory", "duration", "namespace", "queue", "tier")
LARGE = 2**20
"""Characters from which on a trace is read as columns, where polars is there."""
MOST_BAD = 20
"""After so many bad lines the rest is not looked at."""


def read_trace(raw: bytes, source: str) -> tuple[list[Arrival], list[InputError]]:
    """The arrivals, and the lines that cannot be used, each named by its number."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(source, f"byte {error.start} is not UTF-8 text; expected CSV") from None
    quick = _as_columns(text, source) if len(text) >= LARGE else None
    return (quick, []) if quick is not None else _line_by_line(text, source)


def _line_by_line(text: str, source: str) -> tuple[list[Arrival], list[InputError]]:
    arrivals: list[Arrival] = []
    errors: list[InputError] = []
    shapes: dict[tuple[str, str, str], Shape] = {}
    for line, row in _lines(text, source):
        try:
            arrivals.append(_arrival(row, f"{source}:{line}", shapes))
        except InputError as error:
            errors.append(error)
            if len(errors) >= MOST_BAD:
                errors.append(InputError(source, f"more than {MOST_BAD - 1} bad lines; the rest was not read"))
                break
    return arrivals, errors


T = TypeVar("T")


def _as_columns(text: str, source: str) -> list[Arrival] | None:
    """The same, each distinct value read once; None where a line is not plain or not good, and has to be named."""
    columns = table(text)
    if columns is None:
        return None
    size = len(next(iter(columns.values())))
    nothing = [""] * size
    try:
        names = _header(list(columns), source)
        cells = {name: columns.get(name, nothing) for name in COLUMNS} | dict(zip(names, columns.values(), strict=True))
        if not all(cells["workload"]):
            return None
        sizes = list(zip(cells["namespace"], cells["cpu"], cells["memory"], strict=True))
        rows = zip(
            _each(cells["time"], lambda cell: milliseconds(cell, source)),
            cells["workload"],
            _each(sizes, lambda size: _shape(*size, source)),
            _each(cells["replicas"], lambda cell: _replicas(cell, source)),
            _each(cells["duration"], lambda cell: milliseconds(cell, source) if cell else None),
            cells["queue"],
            _each(cells["tier"], lambda cell: tier_of(cell, source)),
            strict=True,
        )
        return [
            arrival(time, name, shape, replicas, duration, queue=queue, tier=tier)
            for time, name, shape, replicas, duration, queue, tier in rows
        ]
    except InputError:
        return None


Cell = TypeVar("Cell", str, tuple[str, str, str])


def _each(cells: list[Cell], read: Callable[[Cell], T]) -> list[T]:
    """Every cell read; equal cells once."""
    known = {cell: read(cell) for cell in dict.fromkeys(cells)}
    return [known[cell] for cell in cells]


def _lines(text: str, source: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Number and cells of every line that is not empty."""
    reader = csv.reader(text.splitlines(), strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            cells = [cell.strip() for cell in cells]
            if not header:
                header = _header(cells, f"{source}:{reader.line_num}")
            else:
                # A line with too few or too many cells is told by the reader of the row.
                row = dict(zip(header, cells, strict=False))
                yield reader.line_num, row if len(cells) == len(header) else {"": f"{len(cells)}/{len(header)}"}
    except csv.Error as error:
        raise InputError(f"{source}:{reader.line_num}", f"is not CSV: {error}") from None
    if not header:
        raise InputError(source, f"is empty; expected a first line with the columns {', '.join(COLUMNS)}")


def _header(cells: list[str], place: str) -> list[str]:
    names = [cell.lower() for cell in cells]
    for name in names:
        if name not in COLUMNS:
            raise InputError(place, f"unknown column {name!r}; expected {', '.join(COLUMNS)}")
    for name in ("time", "workload"):
        if name not in names:
            raise InputError(place, f"the column {name!r} is missing")
    if len(set(names)) != len(names):
        raise InputError(place, "a column is there twice")
    return names


def _arrival(row: dict[str, str], place: str, shapes: dict[tuple[str, str, str], Shape]) -> Arrival:
    if "" in row:
        have, want = row[""].split("/")
        raise InputError(place, f"{have} cells; expected {want}")
    replicas = _replicas(row.get("replicas", ""), place)
    if not row["workload"]:
        raise InputError(f"{place}: workload", "is empty; expected a name")
    size = (row.get("namespace", ""), row.get("cpu", ""), row.get("memory", ""))
    if size not in shapes:
        shapes[size] = _shape(*size, place)
    duration = row.get("duration", "")
    return arrival(
        milliseconds(row["time"], f"{place}: time"),
        row["workload"],
        shapes[size],
        replicas,
        milliseconds(duration, f"{place}: duration") if duration else None,
        queue=row.get("queue", ""),
        tier=tier_of(row.get("tier", ""), f"{place}: tier"),
    )


def _replicas(cell: str, place: str) -> int:
    replicas = integer(cell or "1")
    if replicas is None or not 0 <= replicas <= 10**7:
        raise InputError(f"{place}: replicas", f"{cell!r}; expected a whole number of 0 or more")
    return replicas


def _shape(namespace: str, cpu: str, memory: str, place: str) -> Shape:
    return shape_of(namespace or "default", request_of(cpu or "0", memory or "0", {}, place))
