"""Who runs where, for shapes that mind their neighbours: a population whose rows come and go in place."""

from dataclasses import replace

import numpy as np

from fairlead.model.columns import Int, longer
from fairlead.model.population import Population, Resident


class SimPopulation:
    """Rows are added at the end; a row that leaves is overwritten by the last."""

    def __init__(self, start: Population) -> None:
        self._start = start
        self._codes: dict[Resident, int] = {who: code for code, who in enumerate(start.residents)}
        self._count = len(start.rows)
        self._code_of = longer(start.codes, max(self._count, 1024))
        self._row_of = longer(start.rows, max(self._count, 1024))
        self._leaving = longer(start.leaving, max(self._count, 1024))
        self._residents, self._wary = start.residents, start.wary

    def add(self, who: Resident, rows: Int, counts: Int) -> None:
        """So many more of a kind on each of these nodes."""
        if who not in self._codes:
            self._codes[who] = len(self._codes)
            self._residents = tuple(self._codes)
            self._wary = None
        added = np.repeat(rows, counts)
        size = self._count + len(added)
        if size > len(self._code_of):
            self._code_of, self._row_of = longer(self._code_of, 2 * size), longer(self._row_of, 2 * size)
            self._leaving = longer(self._leaving, 2 * size)
        self._code_of[self._count : size] = self._codes[who]
        self._row_of[self._count : size] = added
        self._count = size

    def remove(self, who: Resident, rows: Int, counts: Int) -> None:
        """So many less; all of them must be there."""
        code = self._codes[who]
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            alike = (self._code_of[: self._count] == code) & (self._row_of[: self._count] == row)
            for place in np.flatnonzero(alike)[:count][::-1].tolist():
                self._count -= 1
                self._code_of[place] = self._code_of[self._count]
                self._row_of[place] = self._row_of[self._count]

    def view(self) -> Population:
        """The replicas now; valid until the next change."""
        return replace(
            self._start,
            residents=self._residents,
            codes=self._code_of[: self._count],
            rows=self._row_of[: self._count],
            leaving=self._leaving[: self._count],
            wary=self._wary,
        )
