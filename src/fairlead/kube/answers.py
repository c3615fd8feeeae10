"""Answers of the API that are not objects: lists in pages, what is served, the version."""

from typing import Any, Generic, TypeVar, cast

import msgspec

T = TypeVar("T")


class ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


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


class Version(msgspec.Struct, rename="camel"):
    major: str = ""
    minor: str = ""
    git_version: str = ""


class ServedResource(msgspec.Struct):
    name: str = ""


class ServedResources(msgspec.Struct):
    resources: list[ServedResource] = msgspec.field(default_factory=list)
