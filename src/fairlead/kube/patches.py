"""Changes to objects that others change too: JSON patches with tests, and read-modify-write with retries."""

import copy
from collections.abc import Callable
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.objects.meta import Raw
from fairlead.kube.resources import Resource
from fairlead.kube.retry import Backoff

Mutate = Callable[[Raw], Raw | None]
"""Gets its own copy of the object; gives back what it shall be, or None where nothing needs to change."""

ATTEMPTS = 6
CONFLICT_BACKOFF = Backoff(first=0.01, cap=1.0)


def pointer(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901) from plain names: `pointer("metadata", "labels", "a/b")` is `/metadata/labels/a~1b`."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


class JsonPatch:
    """Operations in the order they shall be applied; none is applied if one fails.

    >>> JsonPatch().test("u-1", "metadata", "uid").add("x", "metadata", "labels", "a/b").operations[1]
    {'op': 'add', 'path': '/metadata/labels/a~1b', 'value': 'x'}
    """

    def __init__(self) -> None:
        self.operations: list[Raw] = []

    def test(self, value: Any, *path: str | int) -> "JsonPatch":
        """Go on only if this is what is there. A test that fails is answered with 422 Invalid."""
        return self._with("test", path, value=value)

    def add(self, value: Any, *path: str | int) -> "JsonPatch":
        """Set a member, whatever it was, or insert into a list ('-' appends). The parent must be there already."""
        return self._with("add", path, value=value)

    def remove(self, *path: str | int) -> "JsonPatch":
        return self._with("remove", path)

    def _with(self, name: str, path: tuple[str | int, ...], **value: Any) -> "JsonPatch":
        self.operations.append({"op": name, "path": pointer(*path), **value})
        return self


async def update(
    client: Client,
    resource: Resource[Any],
    name: str,
    mutate: Mutate,
    *,
    namespace: str = "",
    attempts: int = ATTEMPTS,
) -> Raw:
    """Read, change, write; when another writer was faster, again from the start. Gives back the object as it is then.

    The whole object is read and written, so nothing that we do not know of is lost. Raises the last conflict
    after `attempts` tries.
    """
    whole = resource.raw
    for attempt in range(1, attempts + 1):
        found = await client.get(whole, name, namespace=namespace)
        wanted = mutate(copy.deepcopy(found))
        if wanted is None or wanted == found:
            return found
        try:
            return await client.replace(whole, name, wanted, namespace=namespace)
        except ApiError as error:
            if not error.conflict or attempt == attempts:
                raise
        await client.sleep(CONFLICT_BACKOFF.wait(attempt, client.jitter))
    raise ValueError(f"attempts must be 1 or more, got {attempts}")
