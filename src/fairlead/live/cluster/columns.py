"""Nodes and running replicas as columns that follow events in place; a snapshot copies what may still change."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairlead.live.cluster.records import Request
from fairlead.model.amounts import WHOLE
from fairlead.model.columns import Int, flags, frozen, ints, longer
from fairlead.model.nodestate import ABSENT, LabelColumn, NodeRecord, NodeState
from fairlead.model.order import natural_rank
from fairlead.model.population import Population, Resident
from fairlead.model.selectors import Taint

K = TypeVar("K")
Code = TypeVar("Code", np.int32, np.int64)

FIRST = 64
BULK = 2**42
"""Amounts from here on are summed apart, as Python integers; below it two million pods of one node fit int64."""
MOST_ROWS = 4096
"""Requests kept as rows; there are as many as templates, but for pods that are resized."""
GONE = ""
"""The name of a row whose node is gone; the next new node takes it."""


class _Labels:
    """One label key over all rows. Values that no node has are forgotten once they outnumber the rows."""

    def __init__(self, rows: int) -> None:
        self.codes: NDArray[np.int32] = np.full(rows, ABSENT, dtype=np.int32)
        self.values: dict[str, int] = {}
        self.nodes = 0
        """How many nodes have the label."""
        self.view: LabelColumn | None = None

    def put(self, row: int, value: str | None) -> None:
        self.nodes += (value is not None) - bool(self.codes[row] != ABSENT)
        self.codes[row] = ABSENT if value is None else self.values.setdefault(value, len(self.values))
        self.view = None
        if len(self.values) > 2 * len(self.codes):
            self.values, self.codes = _renumbered(self.values, self.codes)


def _renumbered(known: dict[K, int], codes: NDArray[Code]) -> tuple[dict[K, int], NDArray[Code]]:
    """Only what is in use, numbered anew in the same order; `ABSENT` stays as it is."""
    # Counted, for `np.unique` in its plain form imports masked arrays: 30 ms in the midst of the first binds.
    live = np.flatnonzero(np.bincount(codes[codes != ABSENT]))
    things = list(known)
    places = np.full(len(things) + 1, ABSENT, dtype=codes.dtype)
    places[live] = np.arange(len(live))
    return {things[code]: place for place, code in enumerate(live.tolist())}, places[codes]


class NodeColumns:
    """One row a node. Rows of nodes that are gone stay, cordoned and without room, until they are taken again."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self._records: list[NodeRecord | None] = []
        self._features: list[tuple[str, ...]] = []
        self._free: list[int] = []
        self._resources: dict[str, int] = {}
        self._allocatable = np.zeros((FIRST, 4), dtype=np.int64)
        self._used = np.zeros((FIRST, 4), dtype=np.int64)
        self._bulk: dict[tuple[int, int], int] = {}
        """By row and column, the exact sum of amounts that are not in `_used`."""
        self._rows_of: dict[Request, NDArray[np.int64]] = {}
        """Requests as rows of `_used`, for as long as the columns are what they are."""
        self._labels: dict[str, _Labels] = {}
        self._profile = np.zeros(FIRST, dtype=np.int64)
        self._profiles: dict[tuple[Taint, ...], int] = {(): 0}
        self._cordoned = np.ones(FIRST, dtype=np.bool_)
        self._rank: Int | None = None

    def put(self, record: NodeRecord) -> bool:
        """Add or change a node; False where nothing that matters changed. Its use is not touched."""
        row = self.rows.get(record.name)
        old = None if row is None else self._records[row]
        if row is None:
            row = self._new_row(record.name)
        elif old == record:
            return False
        self._records[row] = record
        self._set(row, record, old)
        return True

    def drop(self, name: str) -> int | None:
        """Forget a node; returns the row it had."""
        row = self.rows.pop(name, None)
        if row is None:
            return None
        old = self._records[row]
        self._set(row, NodeRecord(name=GONE, allocatable={}, unschedulable=True), old)
        self._records[row] = None
        self._used[row] = 0
        self._bulk = {place: amount for place, amount in self._bulk.items() if place[0] != row}
        self.names[row] = GONE
        self._free.append(row)
        self._rank = None
        return row

    def use(self, row: int, request: Request, sign: int) -> None:
        """Count a replica on a node, or take it off. Exact however large the amounts are (docs/decisions/0200)."""
        amounts = self._rows_of.get(request)
        if amounts is None:
            self._use_each(row, request, sign)
            self._keep_row(request)
        elif sign > 0:
            self._used[row] += amounts
        else:
            self._used[row] -= amounts

    def _use_each(self, row: int, request: Request, sign: int) -> None:
        for name, amount in request:
            # The column may have to be made first, which replaces the array.
            column = self._column(name)
            if amount < BULK:
                self._used[row, column] += sign * amount
            else:
                self._bulk[row, column] = self._bulk.get((row, column), 0) + sign * amount
                if not self._bulk[row, column]:
                    del self._bulk[row, column]

    def _keep_row(self, request: Request) -> None:
        """Remember the request as a row, unless part of it is counted elsewhere: replicas of a template ask alike."""
        columns = [self._resources.get(name) for name, _ in request]
        if None in columns or any(amount >= BULK for _, amount in request):
            return
        if len(self._rows_of) >= MOST_ROWS:
            self._rows_of.clear()
        amounts = self._rows_of[request] = np.zeros(self._used.shape[1], dtype=np.int64)
        for column, (_, amount) in zip(columns, request, strict=True):
            amounts[column] += amount

    def snapshot(self) -> NodeState:
        """The nodes now. Labels that did not change since the last snapshot are shared with it."""
        count = len(self.names)
        resources = tuple(self._resources)
        width = len(resources)
        used = self._used[:count, :width].copy()
        for (row, column), amount in self._bulk.items():
            used[row, column] = min(int(used[row, column]) + amount, WHOLE)
        return NodeState(
            names=tuple(self.names),
            resources=resources,
            allocatable=ints(self._allocatable[:count, :width]),
            used=frozen(used),
            labels={key: self._label_view(column, count) for key, column in self._labels.items()},
            taint_profile=ints(self._profile[:count]),
            taint_profiles=tuple(self._profiles),
            unschedulable=flags(self._cordoned[:count]),
            features=tuple(self._features),
            rows=dict(self.rows),
        )

    @property
    def rank(self) -> Int:
        """Natural rank of the names, row by row."""
        if self._rank is None:
            self._rank = frozen(natural_rank(self.names))
        return self._rank

    def labels_of(self, name: str) -> Mapping[str, str]:
        """The labels of a node; none where it is not known."""
        row = self.rows.get(name)
        record = None if row is None else self._records[row]
        return record.labels if record else {}

    def used(self, row: int) -> Mapping[str, int]:
        """What is counted on a node, for checks."""
        sums = {
            name: int(self._used[row, column]) + self._bulk.get((row, column), 0)
            for name, column in self._resources.items()
        }
        return {name: amount for name, amount in sums.items() if amount}

    def _new_row(self, name: str) -> int:
        self._rank = None
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = len(self.names)
            self.names.append(name)
            self._records.append(None)
            self._features.append(())
            if row >= len(self._profile):
                self._grow(2 * len(self._profile))
        self.rows[name] = row
        return row

    def _grow(self, size: int) -> None:
        self._allocatable = longer(self._allocatable, size, 0)
        self._used = longer(self._used, size, 0)
        self._profile = longer(self._profile, size, 0)
        self._cordoned = longer(self._cordoned, size, 1)
        for column in self._labels.values():
            column.codes = longer(column.codes, size, ABSENT)

    def _set(self, row: int, record: NodeRecord, old: NodeRecord | None) -> None:
        self._allocatable[row] = 0
        for name, amount in record.allocatable.items():
            # The column may have to be made first, which replaces the array.
            column = self._column(name)
            self._allocatable[row, column] = amount
        before = old.labels if old else {}
        for key in {*before, *record.labels}:
            if before.get(key) != record.labels.get(key):
                if key not in self._labels:
                    self._labels[key] = _Labels(len(self._profile))
                self._labels[key].put(row, record.labels.get(key))
                if not self._labels[key].nodes:
                    del self._labels[key]
        self._profile[row] = self._profiles.setdefault(record.taints, len(self._profiles))
        if len(self._profiles) > 2 * len(self._profile):
            self._profiles, self._profile = _renumbered(self._profiles, self._profile)
        self._cordoned[row] = record.unschedulable
        self._features[row] = record.features

    def _column(self, resource: str) -> int:
        column = self._resources.get(resource)
        if column is None:
            if len(self._resources) >= self._used.shape[1]:
                self._widen()
            column = self._resources[resource] = len(self._resources)
        return column

    def _widen(self) -> None:
        """Room for more resources: in place of those that no node has and no replica asks for, else beside them."""
        self._rows_of.clear()
        some = np.flatnonzero(self._used.any(axis=0) | self._allocatable.any(axis=0)).tolist()
        live = sorted({*some, *(column for _, column in self._bulk)})
        names, places = list(self._resources), {column: place for place, column in enumerate(live)}
        self._resources = {names[column]: place for column, place in places.items()}
        self._bulk = {(row, places[column]): amount for (row, column), amount in self._bulk.items()}
        width = max(4, 2 * len(live))
        for name in ("_used", "_allocatable"):
            array = np.zeros((len(self._used), width), dtype=np.int64)
            array[:, : len(live)] = getattr(self, name)[:, live]
            setattr(self, name, array)

    @staticmethod
    def _label_view(column: _Labels, count: int) -> LabelColumn:
        if column.view is None or len(column.view.codes) != count:
            column.view = LabelColumn(frozen(column.codes[:count].copy()), tuple(column.values))
        return column.view


class Residents:
    """Running replicas as columns; a removed one's place is taken by the last."""

    def __init__(self) -> None:
        self._codes = np.zeros(FIRST, dtype=np.int64)
        self._rows = np.zeros(FIRST, dtype=np.int64)
        self._leaving = np.zeros(FIRST, dtype=np.bool_)
        self._keys: list[object] = []
        self._places: dict[object, int] = {}
        self._known: dict[Resident, int] = {}
        self._wary: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, key: object, who: Resident, row: int, leaving: bool) -> None:
        """Add a replica, or say what it looks like now."""
        if len(self._known) > 2 * max(FIRST, len(self._keys)) and who not in self._known:
            self._renumber(len(self._keys))
        place = self._places.setdefault(key, len(self._keys))
        if place == len(self._keys):
            self._keys.append(key)
            if place >= len(self._codes):
                for name in ("_codes", "_rows", "_leaving"):
                    array = getattr(self, name)
                    setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        code = self._known.setdefault(who, len(self._known))
        if who.far and code not in self._wary:
            self._wary[code] = None
        self._codes[place] = code
        self._rows[place] = row
        self._leaving[place] = leaving

    def drop(self, key: object) -> None:
        """Remove a replica."""
        place, last = self._places.pop(key), len(self._keys) - 1
        moved = self._keys.pop()
        if place != last:
            self._keys[place] = moved
            self._places[moved] = place
            for array in (self._codes, self._rows, self._leaving):
                array[place] = array[last]

    def snapshot(self, namespaces: Mapping[str, Mapping[str, str]]) -> Population:
        """The replicas now. Kinds that no longer run are forgotten once they outnumber those that do."""
        count = len(self._keys)
        if len(self._known) > FIRST and len(self._known) > 2 * np.count_nonzero(np.bincount(self._codes[:count])):
            self._renumber(count)
        return Population(
            residents=tuple(self._known),
            codes=ints(self._codes[:count]),
            rows=ints(self._rows[:count]),
            leaving=flags(self._leaving[:count]),
            namespaces=dict(namespaces),
            wary=tuple(self._wary),
        )

    def _renumber(self, count: int) -> None:
        self._known, self._codes[:count] = _renumbered(self._known, self._codes[:count])
        self._wary = {place: None for who, place in self._known.items() if who.far}
