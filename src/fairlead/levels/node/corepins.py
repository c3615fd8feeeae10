"""Which pieces of which cores each replica is pinned to."""

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

import numpy as np

from fairlead.levels.node.oversold import Conversions
from fairlead.model.order import natural_sorted

Cores = dict[str, int]
"""Core to pieces, in natural order of the cores."""


def core_pins(
    free: Mapping[str, int], replicas: int, pieces: int, share_base: int, max_share: int | None
) -> list[Cores]:
    """Pins for so many replicas, no more than the node's capacity; cores in natural order where they are equal.

    Fragments go to partly used cores first (least free first), then to the whole cores whose loss costs least. Whole
    cores are taken from those with most slots left.
    """
    whole_cores, fragment = divmod(pieces, share_base)
    names = natural_sorted(name for name in free if free[name] > 0)
    partly = [name for name in names if free[name] % share_base]
    slots = {name: free[name] // share_base for name in names if not free[name] % share_base}
    shared: list[str] = []
    if fragment:
        partly.sort(key=lambda name: free[name])
        lacking = replicas - sum(free[name] // fragment for name in partly)
        most = len(slots) if max_share is None else max(max_share - len(partly), 0)
        if lacking > 0 and whole_cores:
            shared = _converted(slots, lacking, most, replicas, pieces, share_base)
        elif lacking > 0:
            shared = _opened(slots, lacking, share_base, fragment)
    wholes = _whole(slots, set(shared), replicas, whole_cores)
    fragments = iter([] if not fragment else _fragments([*partly, *shared], free, fragment))
    pins = []
    for cores in wholes:
        pin = dict.fromkeys(cores, share_base)
        if fragment:
            pin[next(fragments)] = fragment
        pins.append({name: pin[name] for name in natural_sorted(pin)})
    return pins


def _converted(
    slots: Mapping[str, int], lacking: int, most: int, replicas: int, pieces: int, share_base: int
) -> list[str]:
    """The whole cores to share for `lacking` fragments, so that enough slots stay for the replicas.

    Fewest slots given up, so that most stay for later; where that leaves too few for these replicas (no more slots of a
    core than there are replicas count), fewest of those that count.
    """
    whole_cores, fragment = divmod(pieces, share_base)
    sizes = np.array(list(slots.values()), dtype=np.int64)
    for n in (int(sizes.max()), replicas):
        numbers = Conversions(sizes, most, n, share_base, fragment).cores(lacking)
        chosen = []
        for name, size in slots.items():
            if numbers.get(size, 0):
                numbers[size] -= 1
                chosen.append(name)
        given_up = sum(min(slots[name], replicas) for name in chosen)
        if int(np.minimum(sizes, replicas).sum()) - given_up >= replicas * whole_cores:
            break
    return chosen


def _opened(slots: Mapping[str, int], lacking: int, share_base: int, fragment: int) -> list[str]:
    """As few cores as hold `lacking` fragments, where no replica needs a whole one."""
    chosen = []
    for name in sorted(slots, key=lambda name: -slots[name]):
        if lacking <= 0:
            break
        chosen.append(name)
        lacking -= slots[name] * share_base // fragment
    return chosen


def _whole(slots: Mapping[str, int], shared: set[str], replicas: int, whole_cores: int) -> Iterator[list[str]]:
    """For each replica its distinct whole cores, those with most slots left first."""
    order = [name for name in slots if name not in shared]
    heap = [(-slots[name], place) for place, name in enumerate(order)]
    heapify(heap)
    for _ in range(replicas):
        taken = [heappop(heap) for _ in range(whole_cores)]
        for left, place in taken:
            if left < -1:
                heappush(heap, (left + 1, place))
        yield [order[place] for _, place in taken]


def _fragments(cores: list[str], free: Mapping[str, int], fragment: int) -> Iterator[str]:
    for name in cores:
        for _ in range(free[name] // fragment):
            yield name
