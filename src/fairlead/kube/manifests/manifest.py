"""One Kubernetes object of a text, and the items of a long JSON list without plain values being made of each.

A dump of a cluster is one list of a hundred thousand objects. Each is decoded once, straight into the type that a plan
reads (docs/decisions/0415); its plain values are made only where they are asked for.
"""

import json
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec

from fairlead.kube.decode import decoder

T = TypeVar("T")


class Manifest:
    """One object with its place (file and line, or item), for messages."""

    __slots__ = ("_text", "_value", "api_version", "kind", "name", "namespace", "place")

    def __init__(self, place: str, value: dict[str, Any]) -> None:
        self.place = place
        self.api_version = str(value["apiVersion"])
        self.kind = str(value["kind"])
        meta = value.get("metadata") or {}
        self.name = str(meta.get("name") or "")
        self.namespace = str(meta.get("namespace") or "")
        self._value: dict[str, Any] | None = value
        self._text: msgspec.Raw | None = None

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version without its group."""
        return self.api_version.rpartition("/")[2]

    @property
    def value(self) -> dict[str, Any]:
        """The object as plain values."""
        if self._value is None:
            self._value = _plain(cast(msgspec.Raw, self._text))
        return self._value

    def decoded(self, kind: type[T]) -> T:
        """As `kind`. Raises `msgspec.ValidationError`."""
        if self._text is None:
            return msgspec.convert(self._value, kind)
        return cast(T, decoder(cast(Any, kind)).decode(self._text))


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Item(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    metadata: _Named = _Named()


class _List(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    items: list[msgspec.Raw]


def items_of(raw: bytes, source: str) -> Iterator[Manifest | tuple[str, Any]] | None:
    """The items of a `List`, None for any other text. One that needs a closer look comes as place and plain value.

    Raises `msgspec.DecodeError` and `UnicodeDecodeError` for what is not JSON.
    """
    try:
        whole = decoder(_List).decode(raw)
    except msgspec.ValidationError:
        return None
    if whole.kind != "List":
        return None  # the items of a typed list, such as a PodList, lack kind and apiVersion
    if not raw.isascii():
        raw.decode()  # fields that are passed over are not checked otherwise
    return _items(whole.items, source)


def _items(texts: list[msgspec.Raw], source: str) -> Iterator[Manifest | tuple[str, Any]]:
    head = decoder(_Item).decode
    for row, text in enumerate(texts):
        place = f"{source} items[{row}]"
        try:
            found = head(text)
        except msgspec.ValidationError:
            yield place, _plain(text)
            continue
        if found.kind.endswith("List"):
            yield place, _plain(text)
            continue
        made = Manifest.__new__(Manifest)
        made.place, made.api_version, made.kind = place, found.api_version, found.kind
        made.name, made.namespace = found.metadata.name, found.metadata.namespace
        made._value, made._text = None, text
        yield made


def _plain(text: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        return json.loads(bytes(text))  # a number beyond what fits into eight bytes
