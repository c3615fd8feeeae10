"""A cluster that shows a difference, made small: objects and fields are dropped while the difference stays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tools.oracle.clusters import Cluster

Path = tuple[str | int, ...]
KEPT = ("name", "namespace", "uid", "metadata")
"""Without these an object would be another one."""


def shrink(cluster: Cluster, persists: Callable[[Cluster], bool]) -> Cluster:
    """The smallest cluster found from which nothing can be dropped without losing the difference."""
    smallest, changed = cluster, True
    while changed:
        changed = False
        for path in sorted(_paths(smallest), key=len):
            if not _there(smallest, path):
                continue
            tried = _without(smallest, path)
            if persists(tried):
                smallest, changed = tried, True
    return smallest


def _paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Every part that may be dropped, the last of a list first so that the places of the others stay."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in KEPT:
                yield (*at, key)
            yield from _paths(inner, (*at, key))
    elif isinstance(value, list):
        for place in reversed(range(len(value))):
            yield (*at, place)
            yield from _paths(value[place], (*at, place))


def _there(value: Any, path: Path) -> bool:
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError):
        return False
    return True


def _without(cluster: Cluster, path: Path) -> Cluster:
    tried = copy.deepcopy(cluster)
    value: Any = tried
    for step in path[:-1]:
        value = value[step]
    del value[path[-1]]
    return tried
