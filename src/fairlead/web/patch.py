"""The difference of two records, so that a stream carries only what changed.

A patch is `{"=": value}` (replaced), or `{"~": {key: patch}, "-": [keys], "n": length}`: members of an object, or of a
list by their place, with the keys that are gone and the new length of a list. None is no difference.
"""

from typing import Any

Patch = dict[str, Any]

DENSE = 2
"""A list of which more than one in so many members differ is sent whole."""


def difference(old: Any, new: Any) -> Patch | None:
    """What makes `new` of `old`."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _members(old, new)
    if isinstance(old, list) and isinstance(new, list) and old:
        return _places(old, new)
    return None if type(old) is type(new) and old == new else {"=": new}


def _members(old: dict[str, Any], new: dict[str, Any]) -> Patch | None:
    inner = {}
    for key, value in new.items():
        if key not in old:
            inner[key] = {"=": value}
        elif (patch := difference(old[key], value)) is not None:
            inner[key] = patch
    gone = [key for key in old if key not in new]
    if not inner and not gone:
        return None
    return {"~": inner, **({"-": gone} if gone else {})}


def _places(old: list[Any], new: list[Any]) -> Patch | None:
    if old == new:
        return None
    inner = {}
    for place in range(min(len(old), len(new))):
        patch = difference(old[place], new[place])
        if patch is not None:
            inner[str(place)] = patch
            if len(inner) * DENSE > len(new) and not isinstance(new[place], dict | list):
                return {"=": new}
    for place in range(len(old), len(new)):
        inner[str(place)] = {"=": new[place]}
    return {"~": inner, "n": len(new)}
