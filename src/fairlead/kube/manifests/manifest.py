"""One Kubernetes object of a text, and the items of a long JSON list without plain values being made of each.

A dump of a cluster is one list of a hundred thousand objects. Each is decoded once, straight into the type that a plan
reads (docs/decisions/0415); its plain values are made only where they are asked for.
"""

import json
from typing import Any, TypeVar, cast

import msgspec

from fairlead.kube.decode import decoder

T = TypeVar("T")


class Manifest:
    """One object with its place (file and line, or item), for messages."""

    __slots__ = ("_place", "_row", "_value", "api_version", "kind", "name", "namespace", "text")

    def __init__(self, place: str, value: dict[str, Any]) -> None:
        self._place = place
        self._row: int | None = None
        self.api_version = str(value["apiVersion"])
        self.kind = str(value["kind"])
        meta = value.get("metadata") or {}
        self.name = str(meta.get("name") or "")
        self.namespace = str(meta.get("namespace") or "")
        self._value: dict[str, Any] | None = value
        self.text: msgspec.Raw | None = None
        """What it is decoded from; None where it came as plain values."""

    @property
    def place(self) -> str:
        """Where it stands, made only for those that are told of: few are, of very many."""
        return self._place if self._row is None else f"{self._place} items[{self._row}]"

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
            self._value = _plain(cast(msgspec.Raw, self.text))
        return self._value

    def decoded(self, kind: type[T]) -> T:
        """As `kind`. Raises `msgspec.ValidationError`."""
        if self.text is None:
            return msgspec.convert(self._value, kind)
        return cast(T, decoder(cast(Any, kind)).decode(self.text))


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


def items_of(raw: bytes, source: str) -> list[Manifest | tuple[str, Any]] | None:
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


def _items(texts: list[msgspec.Raw], source: str) -> list[Manifest | tuple[str, Any]]:
    head, kinds = decoder(_Item).decode, dict[tuple[str, str], tuple[str, str]]()
    found: list[Manifest | tuple[str, Any]] = []
    for row, text in enumerate(texts):
        try:
            item = head(text)
        except msgspec.ValidationError:
            found.append((f"{source} items[{row}]", _plain(text)))
            continue
        kind = item.api_version, item.kind
        known = kinds.get(kind)
        if known is None:
            if item.kind.endswith("List"):
                found.append((f"{source} items[{row}]", _plain(text)))
                continue
            known = kinds[kind] = kind
        made = Manifest.__new__(Manifest)
        made._place, made._row, made._value, made.text = source, row, None, text
        made.api_version, made.kind = known  # the same texts for all, of which there may be very many
        made.name, made.namespace = item.metadata.name, item.metadata.namespace
        found.append(made)
    return found


def _plain(text: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        return json.loads(bytes(text))  # a number beyond what fits into eight bytes
