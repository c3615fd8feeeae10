"""Patches as an API server applies them: JSON patch (RFC 6902), merge patch (RFC 7386), and strategic merges."""

import copy
from typing import Any

MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "schedulingGates": "name",
    "ownerReferences": "uid",
}


class PatchError(Exception):
    """The patch cannot be applied to this object."""


def merge(target: Any, patch: Any, *, strategic: bool = False) -> Any:
    """`target` with `patch` merged in; strategic merges lists of named things by their key, others replace them."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif strategic and key in MERGE_KEYS and isinstance(value, list):
            result[key] = _merge_list(result.get(key) or [], value, MERGE_KEYS[key])
        else:
            result[key] = merge(result.get(key), value, strategic=strategic)
    return result


def _merge_list(old: list[Any], new: list[Any], key: str) -> list[Any]:
    result = list(old)
    for entry in new:
        at = next((i for i, one in enumerate(result) if one.get(key) == entry.get(key)), None)
        if entry.get("$patch") == "delete":
            result = [one for one in result if one.get(key) != entry.get(key)]
        elif at is None:
            result.append(copy.deepcopy(entry))
        else:
            result[at] = merge(result[at], entry, strategic=True)
    return result


def apply_json(target: Any, operations: list[dict[str, Any]]) -> Any:
    """`target` after all operations, or PatchError with nothing changed."""
    result = copy.deepcopy(target)
    for operation in operations:
        _apply_one(result, operation)
    return result


def _apply_one(document: Any, operation: dict[str, Any]) -> None:
    name, path = operation.get("op"), operation.get("path", "")
    parent, last = _walk(document, path)
    if name == "test":
        if _value(parent, last, path) != operation.get("value"):
            raise PatchError(f"testing value {path} failed")
    elif name == "remove":
        _value(parent, last, path)
        del parent[int(last) if isinstance(parent, list) else last]
    elif name == "replace":
        _value(parent, last, path)
        parent[int(last) if isinstance(parent, list) else last] = copy.deepcopy(operation.get("value"))
    elif name == "add":
        value = copy.deepcopy(operation.get("value"))
        if isinstance(parent, list):
            parent.insert(len(parent) if last == "-" else int(last), value)
        else:
            parent[last] = value
    else:
        raise PatchError(f"unknown operation {name!r}")


def _walk(document: Any, path: str) -> tuple[Any, str]:
    if not path.startswith("/"):
        raise PatchError(f"not a path: {path!r}")
    *parts, last = (part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/"))
    for part in parts:
        document = _value(document, part, path)
    return document, last


def _value(parent: Any, last: str, path: str) -> Any:
    try:
        return parent[int(last)] if isinstance(parent, list) else parent[last]
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise PatchError(f"the path {path} does not exist") from error
