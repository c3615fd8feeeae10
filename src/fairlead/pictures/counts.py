"""Counts in words."""

from collections.abc import Mapping

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
        stem = name.rstrip("0123456789")
        if counts[name]:
            groups.setdefault((counts[name], stem), []).append(name[len(stem) :])
    ordered = sorted(groups.items(), key=lambda item: (-item[0][0], natural_key(item[0][1])))
    return ", ".join(f"{stem}{','.join(ends)} ×{count}" for (count, stem), ends in ordered) or "none"
