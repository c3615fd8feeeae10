"""Counts in words."""

from collections.abc import Iterable, Mapping, Sequence

from fairlead.model.order import natural_key

MOST_SPOTS = 8
"""Targets that are named one by one."""


def many(count: int, what: str) -> str:
    """`1 replica`, `2 replicas`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def counts_text(counts: Mapping[str, int]) -> str:
    """Targets with the same count and the same stem share it: `od-1 1, od-2 1, spot-7 2` is `spot-7 ×2, od-1,2 ×1`."""
    groups: dict[tuple[int, str], list[str]] = {}
    for name in sorted(counts, key=natural_key):
        if counts[name]:
            groups.setdefault((counts[name], _stem(name)), []).append(name)
    ordered = sorted(groups.items(), key=lambda item: (-item[0][0], natural_key(item[1][0])))
    return ", ".join(f"{_together(names)} ×{count}" for (count, _), names in ordered) or "none"


def names_text(names: Iterable[str]) -> str:
    """`od-1`, `od-2` and `web` as `od-1,2, web`."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_stem(name), []).append(name)
    return ", ".join(map(_together, groups.values()))


def _stem(name: str) -> str:
    """The name without its last number; one that is a stem itself shares with no other."""
    stem = name.rstrip("0123456789")
    return stem if stem != name else f"{name} "


def _together(names: Sequence[str]) -> str:
    """Names of one stem: the first, then the numbers of the others."""
    first, *others = names
    return ",".join([first, *(other.removeprefix(_stem(first)) for other in others)])
