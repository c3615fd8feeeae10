"""Which replicas run where while a decision is made or time goes by: a population that grows at its end."""

import numpy as np

from fairlead.model.columns import Int, longer
from fairlead.model.population import Population, Resident


class WorkingPopulation:
    """Views share its columns."""

    def __init__(self, population: Population) -> None:
        self._start = population
        self._known: dict[Resident, int] = {each: code for code, each in enumerate(population.residents)}
        self.wary = list(population.wary or ())
        """Codes of the residents that refuse others."""
        self._residents = population.residents
        self._count = len(population.rows)
        self._codes, self._rows, self._leaving = population.codes, population.rows, population.leaving
        self._own = False
        """Whether the columns are copies."""

    def add(self, who: Resident, rows: Int, counts: Int) -> None:
        """So many replicas of a kind on each of these nodes."""
        added = int(counts.sum())
        if not added:
            return
        if who not in self._known:
            if who.far:
                self.wary.append(len(self._known))
            self._known[who] = len(self._known)
            self._residents = (*self._residents, who)
        self._reserve(self._count + added)
        there = slice(self._count, self._count + added)
        self._codes[there] = self._known[who]
        self._rows[there] = np.repeat(rows, counts)
        self._leaving[there] = False
        self._count += added

    def remove(self, count: int) -> None:
        """Forget the last so many."""
        self._count -= count

    def lose(self, who: Resident, rows: Int, counts: Int) -> None:
        """So many replicas of a kind are gone from each of these nodes, as far as they were there."""
        if not len(rows):
            return
        codes, there = self._codes[: self._count], self._rows[: self._count]
        alike = np.flatnonzero(codes == self._known.get(who, -1))
        order = alike[np.argsort(there[alike], kind="stable")]
        nodes = there[order]
        place = np.arange(len(order)) - np.searchsorted(nodes, nodes)
        most = np.zeros(max(int(rows.max()), int(nodes.max(initial=0))) + 1, dtype=np.int64)
        most[rows] = counts
        self._fill(np.sort(order[place < most[nodes]]))

    def _fill(self, gone: Int) -> None:
        """The last ones take the places of those that are gone: their order says nothing."""
        end = self._count - len(gone)
        self._reserve(self._count)
        stays = np.ones(len(gone), dtype=np.bool_)
        stays[gone[gone >= end] - end] = False
        gaps, last = gone[gone < end], end + np.flatnonzero(stays)
        for column in (self._codes, self._rows, self._leaving):
            column[gaps] = column[last]
        self._count = end

    def view(self) -> Population:
        """The replicas now; valid until the next change."""
        return Population(
            residents=self._residents,
            codes=self._codes[: self._count],
            rows=self._rows[: self._count],
            leaving=self._leaving[: self._count],
            namespaces=self._start.namespaces,
            wary=tuple(self.wary),
        )

    def _reserve(self, size: int) -> None:
        if size > len(self._codes) or not self._own:
            self._own = True
            room = max(2 * size, 1024)
            self._codes = longer(self._codes[: self._count], room)
            self._rows = longer(self._rows[: self._count], room)
            self._leaving = longer(self._leaving[: self._count], room)
