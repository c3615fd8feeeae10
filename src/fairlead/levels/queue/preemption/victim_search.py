"""The fewest victims, with a proof: a search over groups of equal replicas that knows what can no longer be better.

What is taken: the lowest top priority of running replicas and of their queues, then the fewest running ones, then
the fewest in all (`victim_order.cost`). A choice that makes room and is at hand already is only given up for one that
costs less.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.levels.queue.preemption.victim_order import NO_STANDING, Bite, Candidates, cheapest, cost, relief
from fairlead.levels.queue.preemption.victims import FRESH, Standing, branch_of, over

MOST_ITEMS, MOST_VISITS = 256, 1000
"""Things that may be taken and choices looked at for one job; beyond that the search gives up."""
PATIENCE = 200_000
"""Groups of replicas taken off nodes on trial, in all the searches of one decision; beyond that they give up."""
ASKING = 50
"""To ask the nodes costs about as much as to take so many groups off them."""


class Item(NamedTuple):
    """One thing that can be taken: up to `most` replicas of one group, or a job as a whole (`most` 1)."""

    job: int
    whole: bool
    parts: tuple[tuple[int, int], ...]
    """(number of the group, replicas) that are taken at a time."""
    most: int
    running: int
    """Running replicas that one time evicts."""
    size: int
    frees: tuple[int, ...]
    standing: Standing
    budgets: tuple[tuple[int, int], ...]
    """(disruption budget, what one time takes of it)."""


class VictimSearch:
    """One search. `fits`: whether the claimant finds room once bites are gone; `excess`: what the whole lacks.

    `patience` is how many groups may be moved on trial, `moved` how many were; every question counts as some.
    """

    def __init__(
        self,
        candidates: Candidates,
        fits: Callable[[Sequence[Bite]], bool],
        excess: Sequence[int],
        patience: int,
    ) -> None:
        self.all = candidates
        self.excess = excess
        self.patience = patience
        self.moved = 0
        self.visits = 0
        self._ask = fits
        self.best: list[Bite] | None = None
        self.price: tuple[Standing, int, int] | None = None

    def run(self, known: Sequence[list[Bite]]) -> tuple[list[Bite] | None, bool]:
        """The cheapest choice, at most as dear as those that are known; and whether the search came to its end."""
        for choice in known:
            if self.price is None or cost(choice) < self.price:
                self.best, self.price = choice, cost(choice)
        items = self._items()
        for level in sorted({NO_STANDING, *(item.standing for item in items)}):
            if self.price is not None and level > self.price[0]:
                break
            self._search([item for item in items if item.standing <= level], level)
            if self._tired():
                return self.best, False
            if self.price is not None and self.price[0] <= level:
                break
        return self.best, True

    def fits(self, bites: Sequence[Bite]) -> bool:
        """Whether the claimant finds room once these are gone; counted."""
        self.moved += ASKING + sum(len(bite.parts) for bite in bites)
        return self._ask(bites)

    def _tired(self) -> bool:
        return self.visits > MOST_VISITS or self.moved > self.patience

    def _items(self) -> list[Item]:
        """Everything that may be taken."""
        members = self.all.state.members
        items: list[Item] = []
        for job, numbers in self.all.of_job.items():
            above = members.count(job) - members.minimum(job)
            for number in numbers:
                if (most := min(self.all.limits[number], above)) > 0:
                    items.append(self._item(job, [(number, 1)], most, whole=False))
            if (
                not self.all.claim.elastic
                and above < members.count(job)
                and all(self.all.limits[n] == self.all.groups[n].count for n in numbers)
            ):
                items.append(self._item(job, [(n, self.all.groups[n].count) for n in numbers], 1, whole=True))
        return items

    def _key(self, item: Item) -> tuple[object, ...]:
        """What frees most comes first, equal ones side by side, the cheapest first."""
        number = item.parts[0][0]
        return -relief(self.all, number), item.frees, cheapest(self.all, number)

    def _item(self, job: int, parts: Sequence[tuple[int, int]], most: int, *, whole: bool) -> Item:
        groups = [(self.all.groups[number], count) for number, count in parts]
        frees = [0] * len(self.excess)
        for number, count in parts:
            for resource, amount in enumerate(self.all.request(number)):
                frees[resource] += amount * count
        running = [(group, count) for group, count in groups if group.row != FRESH]
        return Item(
            job=job,
            whole=whole,
            parts=tuple(parts),
            most=most,
            running=sum(count for _, count in running),
            size=sum(count for _, count in groups),
            frees=tuple(frees),
            standing=max((group.standing for group, _ in running), default=NO_STANDING),
            budgets=tuple((group.budget, count) for group, count in groups if group.budget >= 0),
        )

    def _search(self, items: list[Item], level: Standing) -> None:
        """Search among these items, all of that standing or below."""
        self.items, self.level = items, level
        self.taken = [0] * len(items)
        if not items or not self._hopeful(0) or not self.fits(self._bites(self._everything(0))):
            return
        if len(items) > MOST_ITEMS:
            self.visits = MOST_VISITS + 1
            return
        items.sort(key=self._key)
        single = Counter(item.job for item in items)
        plain = [single[item.job] == 1 and len(item.parts) == 1 and not item.budgets for item in items]
        self.twins = [
            place > 0 and plain[place - 1] and plain[place] and self._alike(items[place - 1], items[place])
            for place in range(len(items))
        ]
        self._visit(0)

    def _alike(self, first: Item, second: Item) -> bool:
        """Whether it makes no difference which of the two is taken first."""
        one, other = (self.all.groups[item.parts[0][0]] for item in (first, second))
        queue_of = self.all.state.queue_of
        return (
            (first.frees, first.whole, first.running, first.size)
            == (second.frees, second.whole, second.running, second.size)
            and one.node == other.node
            and queue_of[first.job] == queue_of[second.job]
        )

    def _visit(self, place: int) -> None:
        """Look at what is taken so far, then at every number of the item at `place`."""
        self.visits += 1
        if self._tired() or not self._hopeful(place):
            return
        chosen = self._bites(self.taken)
        if self.fits(chosen):
            self.best, self.price = chosen, cost(chosen)
            return
        if place == len(self.items):
            return
        item = self.items[place]
        least_only = self.twins[place] and self.taken[place - 1] < self.items[place - 1].most
        for number in range(0 if least_only else self._bound(item), -1, -1):
            if self._tired():
                break
            self.taken[place] = number
            if number and not self._valid():
                continue
            if number < item.most and not self.fits(self._bites(self._everything(place + 1))):
                break
            self._visit(place + 1)
        self.taken[place] = 0

    def _bound(self, item: Item) -> int:
        """No more of the item than would cost as much as the best choice."""
        if self.price is None or self.price[0] > self.level or not item.running:
            return item.most
        return min(item.most, self.price[1] // item.running)

    def _hopeful(self, place: int) -> bool:
        """Whether what is taken, and the least that has to follow, costs less than the best choice."""
        if self.price is None or self.price[0] > self.level:
            return True
        running = sum(count * item.running for item, count in zip(self.items, self.taken, strict=True))
        size = sum(count * item.size for item, count in zip(self.items, self.taken, strict=True))
        more = self._needed(place)
        return (running + more, size + more) < self.price[1:]

    def _needed(self, place: int) -> int:
        """Running replicas that have to follow at the least, so that the whole has room in sum."""
        most = 0
        for resource, lack in enumerate(self.excess):
            for item, count in zip(self.items, self.taken, strict=True):
                lack -= count * item.frees[resource]
            rest = self.items[place:]
            lack -= sum(item.frees[resource] * item.most for item in rest if not item.running)
            if lack > 0:
                each = max((-(-item.frees[resource] // item.running) for item in rest if item.running), default=0)
                most = max(most, -(-lack // each) if each else 0)
        return most

    def _bites(self, taken: Sequence[int]) -> list[Bite]:
        groups = self.all.groups
        return [
            Bite([(groups[number], count * times) for number, count in item.parts], item.whole)
            for item, times in zip(self.items, taken, strict=True)
            if times
        ]

    def _everything(self, place: int) -> list[int]:
        """What is taken so far and all that could follow; more than may be taken together, at times."""
        taken = [*self.taken[:place], *(item.most for item in self.items[place:])]
        wholes = {item.job for item, count in zip(self.items, taken, strict=True) if item.whole and count}
        return [
            0 if not item.whole and item.job in wholes else count for item, count in zip(self.items, taken, strict=True)
        ]

    def _valid(self) -> bool:
        """Whether what is taken keeps gangs, disruption budgets and the rights of other queues."""
        chosen = [(item, count) for item, count in zip(self.items, self.taken, strict=True) if count]
        members = self.all.state.members
        some: dict[int, int] = {}
        spent: dict[int, int] = {}
        for item, count in chosen:
            some[item.job] = some.get(item.job, 0) + (members.count(item.job) if item.whole else count)
            for budget, each in item.budgets:
                spent[budget] = spent.get(budget, 0) + each * count
        wholes = {item.job for item, _ in chosen if item.whole}
        if any(
            count > members.count(job) - (0 if job in wholes else members.minimum(job)) for job, count in some.items()
        ):
            return False
        if any(count > self.all.allowed[budget] for budget, count in spent.items()):
            return False
        return self._rights(chosen)

    def _rights(self, chosen: Sequence[tuple[Item, int]]) -> bool:
        """Whether there is an order in which every item is taken from a branch that still holds more than its right.

        Looked for from the end: the last one taken sees what all the others have freed already.
        """
        state, claim = self.all.state, self.all.claim
        branches: dict[int, list[tuple[Item, int]]] = {}
        for item, count in chosen:
            queue = state.queue_of[item.job]
            if queue != claim.queue:
                branches.setdefault(branch_of(state, claim, queue), []).append((item, count))
        for taken in branches.values():
            surplus = dict(over(state, claim, state.queue_of[taken[0][0].job]))
            gone = {r: sum(item.frees[r] * count for item, count in taken) for r in surplus}
            left = list(taken)
            while left:
                last = next(
                    (
                        entry
                        for entry in left
                        if any(entry[0].frees[r] and gone[r] - entry[0].frees[r] < surplus[r] for r in surplus)
                    ),
                    None,
                )
                if last is None:
                    return False
                left.remove(last)
                for r in surplus:
                    gone[r] -= last[0].frees[r] * last[1]
        return True
