"""Packing volumes of several sizes, the same set for every replica, into the free space of a node's volumes.

With one size it is a division. Mixed sizes are a bin packing problem. Least waste finds most arrangements and prices
prove most bounds (`patterns`). What they leave open is solved exactly by search while the search stays within
`MOST_STEPS`, as it always does where bins · Π(replicas · number of a size + 1)² ≤ 1,000. Beyond, the result may be
lower than the best by less than one replica a volume, and says so.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from fairlead.dataclass import dataclass
from fairlead.levels.node.patterns import tabulated

MOST_STEPS = 2_000
"""Of one search; about a fiftieth of a second."""

Pattern = tuple[int, ...]
"""How many pieces of each size, largest size first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """`replicas` fit for certain; no more than `most` do. They differ only where the search gave up."""

    replicas: int
    most: int


def pack(bins: Sequence[int], sizes: Sequence[int]) -> Packing:
    """How many replicas with volumes of these sizes (each above 0) the bins hold."""
    if len(set(sizes)) == 1:
        replicas = sum(space // sizes[0] for space in bins) // len(sizes)
        return Packing(replicas=replicas, most=replicas)
    replicas, most = _lower(bins, sizes), _upper(bins, sizes)
    if replicas < most:
        problem = _Problem(bins, sizes)
        for wanted in range(most, replicas, -1):
            found = problem.arrange(wanted)
            if found:
                return Packing(replicas=wanted, most=most)
            if found is None and wanted == most:
                most -= 1
    return Packing(replicas=replicas, most=most)


def _upper(bins: Sequence[int], sizes: Sequence[int]) -> int:
    """No more than the space allows, nor than the pieces of at least each size fit bins one by one."""
    most = sum(bins) // sum(sizes)
    for size in set(sizes):
        larger = sum(1 for other in sizes if other >= size)
        most = min(most, sum(space // size for space in bins) // larger)
    return most


def _lower(bins: Sequence[int], sizes: Sequence[int]) -> int:
    """Whole replicas in one bin each, then what best fit makes of the rests."""
    together = sum(sizes)
    rests = [space % together for space in bins]
    replicas = sum(space // together for space in bins)
    while best_fit(rests, sizes) is not None:
        replicas += 1
    return replicas


def best_fit(bins: list[int], sizes: Sequence[int]) -> list[int] | None:
    """Charge the bins with one replica, larger sizes first, each to the fullest bin that holds it (then the first).

    Returns the bin of each size, or None and leaves the bins as they were.
    """
    left = list(bins)
    chosen = [0] * len(sizes)
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        fitting = [(left[row], row) for row in range(len(left)) if left[row] >= sizes[place]]
        if not fitting:
            return None
        row = min(fitting)[1]
        left[row] -= sizes[place]
        chosen[place] = row
    bins[:] = left
    return chosen


def deal(bins: Sequence[int], sizes: Sequence[int], replicas: int) -> list[list[int]]:
    """For each of so many replicas, no more than `pack` found, the bin of each of its volumes.

    Best fit in turn keeps the emptiest bins whole; where it falls short, the ways in which `pack` found the room.
    """
    rows = _in_turn(list(bins), sizes, replicas) if sizes else [[]] * replicas
    if len(rows) == replicas:
        return rows
    together = sum(sizes)
    whole = ([row] * len(sizes) for row, space in enumerate(bins) for _ in range(space // together))
    rows = list(islice(whole, replicas))
    rows += _in_turn([space % together for space in bins], sizes, replicas - len(rows))
    if len(rows) == replicas:
        return rows
    patterns = _Problem(bins, sizes).arrange(replicas) or []
    stock = {
        size: iter([row for row, pattern in enumerate(patterns) for _ in range(pattern[kind])])
        for kind, size in enumerate(sorted(set(sizes), reverse=True))
    }
    return [[next(stock[size]) for size in sizes] for _ in range(replicas)]


def _in_turn(bins: list[int], sizes: Sequence[int], replicas: int) -> list[list[int]]:
    """Best fit for as many of the replicas as it finds room for."""
    rows: list[list[int]] = []
    while len(rows) < replicas and (row := best_fit(bins, sizes)) is not None:
        rows.append(row)
    return rows


class _Problem:
    """Bins and the sizes of one replica, prepared for arrangements of several numbers of replicas."""

    def __init__(self, bins: Sequence[int], sizes: Sequence[int]) -> None:
        numbers = Counter(sizes)
        self._bins = bins
        self._kinds = sorted(numbers, reverse=True)
        self._numbers = [numbers[size] for size in self._kinds]
        self._patterns = tabulated(bins, self._kinds, self._numbers)

    def arrange(self, replicas: int) -> list[Pattern] | None:
        """A pattern per bin that holds so many replicas; None if there is none, [] if the search gave up."""
        if self._patterns:
            found = self._patterns.arrange(replicas)
            if found or self._patterns.ruled_out(replicas):
                return found
        return self._searched(replicas)

    def _searched(self, replicas: int) -> list[Pattern] | None:
        order = sorted(range(len(self._bins)), key=lambda row: self._bins[row])
        search = _Search([self._bins[row] for row in order], self._kinds)
        found = search.run(tuple(number * replicas for number in self._numbers))
        if found is None:
            return [] if search.steps >= MOST_STEPS else None
        patterns: list[Pattern] = [()] * len(self._bins)
        for row, pattern in zip(order, found, strict=True):
            patterns[row] = pattern
        return patterns


class _Search:
    """Bin after bin, smallest first, every pattern that leaves no room for one more piece; dead ends are remembered."""

    def __init__(self, bins: Sequence[int], kinds: Sequence[int]) -> None:
        self._bins = bins
        self._kinds = kinds
        self._space = [sum(bins[row:]) for row in range(len(bins) + 1)]
        self._dead: set[tuple[int, Pattern]] = set()
        self.steps = 0

    def run(self, wanted: Pattern) -> list[Pattern] | None:
        """Depth first without recursion, because there may be more bins than frames."""
        path: list[Pattern] = []
        left = [wanted]
        options = [self._patterns(0, wanted)]
        while options:
            row = len(path)
            if not any(left[-1]):
                return path + [(0,) * len(self._kinds)] * (len(self._bins) - row)
            pattern = next(options[-1], None) if self.steps < MOST_STEPS else None
            if pattern is None:
                self._dead.add((row, left[-1]))
                options.pop()
                left.pop()
                if path:
                    path.pop()
                continue
            self.steps += 1
            rest = tuple(have - take for have, take in zip(left[-1], pattern, strict=True))
            if self._hopeless(row + 1, rest):
                continue
            path.append(pattern)
            left.append(rest)
            options.append(self._patterns(row + 1, rest))
        return None

    def _hopeless(self, row: int, left: Pattern) -> bool:
        space = sum(size * number for size, number in zip(self._kinds, left, strict=True))
        return space > self._space[row] or (row, left) in self._dead

    def _patterns(self, row: int, left: Pattern) -> Iterator[Pattern]:
        """The maximal ways to fill bin `row` from the pieces left, most of the largest size first."""
        if row == len(self._bins):
            return iter(())
        return self._fill(self._bins[row], left, 0)

    def _fill(self, space: int, left: Pattern, kind: int) -> Iterator[Pattern]:
        size = self._kinds[kind]
        most = min(left[kind], space // size)
        if kind == len(self._kinds) - 1:
            yield (most,)
            return
        for number in range(most, -1, -1):
            self.steps += 1
            for rest in self._fill(space - number * size, left, kind + 1):
                if number < most and self._loose(space - number * size, rest, kind) >= size:
                    continue
                yield (number, *rest)
            if self.steps >= MOST_STEPS:
                return

    def _loose(self, space: int, rest: Pattern, kind: int) -> int:
        """What stays empty: if a piece of this kind still fits there, a fuller pattern does at least as well."""
        return space - sum(size * number for size, number in zip(self._kinds[kind + 1 :], rest, strict=True))
