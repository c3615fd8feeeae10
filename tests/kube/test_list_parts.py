"""Lists in parts: the next page is on its way while one is read, and its token is found without reading the objects."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.resources import PODS
from fairlead.kube.responses import next_token
from fairlead.kube.transport import Response

ITEM = '{"metadata":{"name":"p","annotations":{"x":"\\"continue\\":\\"no\\""}}}'
TOKENS = {
    "as servers write it": (
        '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"abc"},"items":[]}',
        "abc",
    ),
    "of a group": ('{"kind":"JobList","apiVersion":"batch/v1","metadata":{"continue":"a"},"items":[]}', "a"),
    "the last page": (
        f'{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{ITEM}]}}',
        "",
    ),
    "in another order": (f'{{"items":[{ITEM}],"metadata":{{"continue":"abc"}}}}', "abc"),
    "with spaces": ('{ "metadata": {"continue": "abc"}, "items": null }', "abc"),
    "no list": ('{"kind":"Status"}', ""),
    "no JSON": ("busy", ""),
    "not a text": ('{"metadata":{"continue":7}}', ""),
}


@pytest.mark.parametrize(("body", "token"), TOKENS.values(), ids=TOKENS)
def test_token_is_that_of_the_list(body: str, token: str) -> None:
    """Whatever the objects carry, and however the text is put together."""
    assert next_token(body.encode()) == token


class Pages:
    """A transport that has so many pages, and tells when each was asked for; page `broken` fails as too old."""

    def __init__(self, count: int, broken: int = 0) -> None:
        self.count, self.broken = count, broken
        self.asked: list[dict[str, str]] = []
        self.headers: list[Any] = []

    async def request(self, method: str, path: str, *, query: Any = None, headers: Any = None, **more: Any) -> Response:
        self.asked.append(dict(query or {}))
        self.headers.append(headers)
        number = int(query.get("continue", 1))
        await asyncio.sleep(0)
        if number == self.broken:
            return Response(
                status=410, body=b'{"kind":"Status","status":"Failure","reason":"Expired","code":410}', headers={}
            )
        token = f',"continue":"{number + 1}"' if number < self.count else ""
        text = f'{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7"{token}}},"items":[]}}'
        return Response(status=200, body=text.encode(), headers={})

    async def stream(self, path: str, query: Any) -> AsyncGenerator[bytes, None]:
        yield b""

    async def close(self) -> None: ...


async def test_the_next_page_is_asked_for_before_one_is_read() -> None:
    """At the first page the second is under way; every page comes once, in order."""
    pages = Pages(3)
    under_way = []
    async for body in Client(pages).parts(PODS, limit=500, labels="a=b"):
        under_way.append(len(pages.asked))
        assert next_token(body) == ("" if len(under_way) == 3 else str(len(under_way) + 1))
    assert under_way == [2, 3, 3]
    assert [asked.get("continue") for asked in pages.asked] == [None, "2", "3"]
    assert all(asked["labelSelector"] == "a=b" and asked["limit"] == "500" for asked in pages.asked)


async def test_a_list_that_is_left_takes_back_what_it_asked_for() -> None:
    """Nothing stays under way."""
    before = asyncio.all_tasks()
    async with aclosing(Client(Pages(3)).parts(PODS)) as parts:
        await anext(parts)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_page_that_is_too_old_fails_as_gone() -> None:
    """After those before it were given out."""
    parts = Client(Pages(3, broken=3)).parts(PODS)
    assert [next_token(await anext(parts)) for _ in range(2)] == ["2", "3"]
    with pytest.raises(ApiError, match="410"):
        await anext(parts)
