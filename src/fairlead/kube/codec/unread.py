"""Fields of an object that our shapes do not have: they are told, never passed over in silence."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec


def unread(raw: Any, shape: type[msgspec.Struct]) -> list[str]:
    """The paths of filled fields that the shape does not have, in order: `placement.someDay`."""
    return list(_unread(raw, _info(shape), ""))


@cache
def _info(shape: type[msgspec.Struct]) -> msgspec.inspect.Type:
    return msgspec.inspect.type_info(shape)


def _unread(raw: Any, kind: msgspec.inspect.Type, path: str) -> Iterator[str]:
    if isinstance(kind, msgspec.inspect.UnionType):
        for each in kind.types:
            if not isinstance(each, msgspec.inspect.NoneType):
                yield from _unread(raw, each, path)
    elif isinstance(kind, msgspec.inspect.StructType) and isinstance(raw, dict):
        fields = {each.encode_name: each.type for each in kind.fields}
        for name, value in raw.items():
            if name in fields:
                yield from _unread(value, fields[name], f"{path}{name}.")
            elif value not in (None, "", [], {}):
                yield f"{path}{name}"
    elif isinstance(kind, msgspec.inspect.VarTupleType) and isinstance(raw, list):
        for place, value in enumerate(raw):
            yield from _unread(value, kind.item_type, f"{path.removesuffix('.')}[{place}].")
