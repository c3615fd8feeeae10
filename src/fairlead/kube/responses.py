"""Answers of the API that are not objects: lists in pages, what is served, the version."""

import re
from typing import Any, Generic, Literal, TypeVar, cast

import msgspec

from fairlead.text.mistakes import UNREADABLE

T = TypeVar("T")


class ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, Generic[T]):
    """A list or a part of it."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] = msgspec.field(default_factory=list)

    @property
    def resource_version(self) -> str:
        return self.metadata.resource_version


def page_of(shape: type[T]) -> type[Page[T]]:
    """The shape of a page of such objects, chosen at run time."""
    return cast("type[Page[T]]", cast(Any, Page)[shape])


class _Head(msgspec.Struct):
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)


_FIRST = re.compile(rb'\{"kind":"\w*","apiVersion":"[\w./]*","metadata":(\{[^{}]*\}),"items":').match
_LIST_META, _HEAD = msgspec.json.Decoder(ListMeta), msgspec.json.Decoder(_Head)


def next_token(body: bytes) -> str:
    """The token of the page after this one, empty where it is the last or no list at all.

    API servers write it before the objects, so that most of the text need not be looked at.
    """
    first = _FIRST(body)
    try:
        return _LIST_META.decode(first[1]).next if first else _HEAD.decode(body).metadata.next
    except UNREADABLE:
        return ""


class Version(msgspec.Struct, rename="camel"):
    major: str = ""
    minor: str = ""
    git_version: str = ""


class ServedResource(msgspec.Struct):
    name: str = ""


class ServedResources(msgspec.Struct):
    """What a group and version has."""

    kind: Literal["APIResourceList"]
    resources: list[ServedResource] = msgspec.field(default_factory=list)


class ServedVersion(msgspec.Struct, rename="camel"):
    group_version: str = ""


class ServedGroup(msgspec.Struct):
    versions: list[ServedVersion] = msgspec.field(default_factory=list)


class ServedGroups(msgspec.Struct):
    """Which groups there are, in which versions. The kind is asked for: not every JSON object is this answer."""

    kind: Literal["APIGroupList"]
    groups: list[ServedGroup] = msgspec.field(default_factory=list)
