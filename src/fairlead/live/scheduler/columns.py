"""Nodes and running replicas as columns that follow events in place; a snapshot copies what may still change."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from fairlead.model.columns import Int, flags, frozen, ints, longer
from fairlead.model.nodestate import ABSENT, LabelColumn, NodeRecord, NodeState
from fairlead.model.order import natural_rank
from fairlead.model.population import Population, Resident
from fairlead.model.selectors import Taint

FIRST = 64
GONE = ""
"""The name of a row whose node is gone; the next new node takes it."""


class _Labels:
    """One label key over all rows."""

    def __init__(self, rows: int) -> None:
        self.codes: NDArray[np.int32] = np.full(rows, ABSENT, dtype=np.int32)
        self.values: dict[str, int] = {}
        self.view: LabelColumn | None = None

    def put(self, row: int, value: str | None) -> None:
        self.codes[row] = ABSENT if value is None else self.values.setdefault(value, len(self.values))
        self.view = None


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
        self.names[row] = GONE
        self._free.append(row)
        self._rank = None
        return row

    def use(self, row: int, request: Iterable[tuple[str, int]], sign: int) -> None:
        """Count a replica on a node, or take it off."""
        for name, amount in request:
            # The column may have to be made first, which replaces the array.
            column = self._column(name)
            self._used[row, column] += sign * amount

    def snapshot(self) -> NodeState:
        """The nodes now. Labels that did not change since the last snapshot are shared with it."""
        count = len(self.names)
        resources = tuple(self._resources)
        width = len(resources)
        return NodeState(
            names=tuple(self.names),
            resources=resources,
            allocatable=ints(self._allocatable[:count, :width]),
            used=ints(self._used[:count, :width]),
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
        return {
            name: int(self._used[row, column]) for name, column in self._resources.items() if self._used[row, column]
        }

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
        self._profile[row] = self._profiles.setdefault(record.taints, len(self._profiles))
        self._cordoned[row] = record.unschedulable
        self._features[row] = record.features

    def _column(self, resource: str) -> int:
        column = self._resources.setdefault(resource, len(self._resources))
        if column >= self._used.shape[1]:
            room = np.zeros((len(self._used), self._used.shape[1]), dtype=np.int64)
            self._used = np.hstack([self._used, room])
            self._allocatable = np.hstack([self._allocatable, room])
        return column

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
        if len(self._known) > FIRST and len(self._known) > 2 * len(np.unique(self._codes[:count])):
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
        kinds = list(self._known)
        live, codes = np.unique(self._codes[:count], return_inverse=True)
        self._codes[:count] = codes
        self._known = {kinds[code]: place for place, code in enumerate(live.tolist())}
        self._wary = {place: None for who, place in self._known.items() if who.far}
