"""Requests and watches: any answer in any pieces, and connections that end at the wrong moment."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.transport import Response
from fairlead.kube.wire.connection import AHEAD, Flow, RequestLine
from fairlead.kube.wire.head import MOST_HEAD, read_head
from fairlead.kube.wire.pool import READ, NotConnectedError, Wire
from fairlead.kube.wire.response import HttpResponse

Answers = Callable[[bytes], bytes | None]
"""What a server says to a request; None: it closes the connection."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(body: bytes, size: int) -> bytes:
    """A body in chunks, with an extension and a trailer that nobody needs."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;a=b\r\n%s\r\n" % (len(each), each) for each in pieces) + b"0\r\nLast: 1\r\n\r\n"


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data as a network may cut them."""
    marks = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[begin:end] for begin, end in pairwise(marks)]


def fed(data: bytes, cuts: list[int]) -> Response | None:
    """The answer read from the data in pieces."""
    answer, found = HttpResponse(), None
    for piece in pieces(data, cuts):
        found = answer.feed(piece)
    return found


@given(
    body=st.binary(max_size=200),
    size=st.integers(1, 60),
    way=st.sampled_from(["length", "chunks"]),
    coding=st.sampled_from(["", "gzip"]),
    first=st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"]),
    cuts=st.lists(st.integers(0, 10_000), max_size=12),
)
def test_answer_is_the_same_in_any_pieces(
    body: bytes, size: int, way: str, coding: str, first: bytes, cuts: list[int]
) -> None:
    """However the network cuts it, by length or in chunks, plain or compressed, after other heads or none."""
    sent = gzip.compress(body, mtime=0) if coding else body
    head = b"HTTP/1.1 201 Created\r\nX-Kind:  a: b \r\n" + (b"Content-Encoding: gzip\r\n" if coding else b"")
    framed = (
        b"Content-Length: %d\r\n\r\n%s" % (len(sent), sent)
        if way == "length"
        else b"Transfer-Encoding: chunked\r\n\r\n" + chunked(sent, size)
    )
    found = fed(first + head + framed, cuts)
    assert found is not None
    assert (found.status, found.body, found.headers["x-kind"]) == (201, body, "a: b")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_audit_id_is_left_out_wherever_it_stands(place: int) -> None:
    """Heads that differ in nothing else are one head, and the headers beside it are read."""
    lines = ["Cache-Control: private", "Content-Length: 0"]
    lines.insert(place, "Audit-Id: 6a3d4ae7-9d43-4a5a-8d3e-0a0c5c1b1d11")
    found = read_head("\r\n".join(["HTTP/1.1 201 Created", *lines, "Date: today"]))
    assert found is not None
    assert (found.status, found.length) == (201, 0)
    assert found.headers == {"cache-control": "private", "content-length": "0", "date": "today"}


@given(data=st.binary(max_size=300), cuts=st.lists(st.integers(0, 300), max_size=5), head=st.booleans())
def test_garbage_is_no_answer(data: bytes, cuts: list[int], head: bool) -> None:
    """Any bytes are an answer, not yet one, or an error of value: nothing else comes out."""
    begin = CHUNKED if head else b""
    try:
        found = fed(begin + data, cuts)
    except ValueError:
        return
    assert found is None or found.status > 0


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"HTTP/2 200\r\n\r\n", "begins with"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "length is '-1'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "length is"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "transferred as 'gzip'"),
        (CHUNKED + b"0x1\r\n", "no chunk begins"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Encoding: br\r\n\r\n", "encoded as 'br'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n\r\nok", "gzip"),
        (OK + b"more", "more than it was asked for"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * MOST_HEAD, "the head of the answer"),
        (CHUNKED + b"1" * (MOST_HEAD + 1), "chunk without its size"),
        (CHUNKED + b"2\r\nokX", "ends with b'X'"),
        (CHUNKED + b"2\r\nok\rX", "ends with"),
        (CHUNKED + b"0\r\n" + b"A: b\r\n" * MOST_HEAD, "trailers of the answer"),
        (CHUNKED + b"0\r\n" + b"A" * (MOST_HEAD + 1), "trailers of the answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "length is '2, 3'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n folded\r\n\r\n", "no header is written as"),
        (b"HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n", "no header is written as"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "no header is written as"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "body of the answer has more than"),
    ],
)
def test_answers_that_are_none_say_why(data: bytes, why: str) -> None:
    """The message names what was wrong."""
    with pytest.raises(ValueError, match=why):
        HttpResponse().feed(data)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
        CHUNKED + b"fff\r\n" + b"x" * 101,
        CHUNKED + chunked(b"x" * 101, 7),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 101,
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunked(gzip.compress(b"x" * 101, mtime=0), 50),
    ],
    ids=["length", "half a chunk", "chunks", "to the end", "gzip"],
)
def test_body_beyond_the_limit_is_refused(data: bytes) -> None:
    """Whichever way its length is told, and also where it grows only when it is unpacked."""
    with pytest.raises(ValueError, match="more than 100 bytes"):
        HttpResponse(most=100).feed(data)


def test_cut_gzip_is_no_answer() -> None:
    """Half a compressed body is not taken for a whole one."""
    half = gzip.compress(b"x" * 1000, mtime=0)[:-9]
    with pytest.raises(ValueError, match="it is cut"):
        HttpResponse().feed(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(half), half)
        )


def test_body_that_is_taken_has_no_limit() -> None:
    """A watch goes on for as long as its pieces are taken, and half a chunk is a piece as well."""
    answer = HttpResponse(most=10)
    answer.feed(CHUNKED + b"1000\r\n")
    for _ in range(64):
        assert answer.feed(b"y" * 10) is None
        assert answer.take() == b"y" * 10


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (b"", True),
        (b"Connection: keep-alive\r\n", True),
        (b"Connection: close\r\n", False),
        (b"connection: Keep-Alive, CLOSE\r\n", False),
        (b"Connection: upgrade\r\nConnection: close\r\n", False),
        (b"Connection: closed\r\n", True),
        (b"Transfer-Encoding: chunked\r\n", False),
    ],
)
def test_connection_header_is_a_list(lines: bytes, kept: bool) -> None:
    """`close` anywhere in it, or a body told in two ways, ends the connection after the answer."""
    answer = HttpResponse()
    body = b"2\r\nok\r\n0\r\n\r\n" if b"chunked" in lines else b"ok"
    found = answer.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + lines + b"\r\n" + body)
    assert found is not None
    assert (found.body, answer.kept) == (b"ok", kept)


@asynccontextmanager
async def wire(answers: Answers, *, limit: int = 4, prefix: str = "") -> AsyncIterator[tuple[Wire, list[int]]]:
    """A wire to a server that answers so; and the number of requests of each of its connections."""
    counts: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(counts)
        counts.append(0)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), b":0"
                )
                body = await reader.readexactly(int(length.partition(b":")[2]))
                counts[number] += 1
                said = answers(head + body)
                if said is None:
                    return
                writer.write(said)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    made = Wire(f"http://127.0.0.1:{port}{prefix}", tls=None, server_name="", limit=limit)
    try:
        yield made, counts
    finally:
        await made.close()
        server.close()
        await server.wait_closed()


async def test_one_connection_serves_requests_in_turn() -> None:
    """The connection is kept, and the request is what was asked."""
    seen: list[bytes] = []

    def answers(request: bytes) -> bytes:
        seen.append(request)
        return OK

    async with wire(answers, prefix="/behind/a/proxy") as (made, counts):
        for _ in range(3):
            assert (await made.send("POST", "/x?a=b", {"Accept": "y"}, b"{}", 20)).body == b"ok"
    assert counts == [3]
    first, host, *rest = seen[0].split(b"\r\n")
    assert (first, rest) == (
        b"POST /behind/a/proxy/x?a=b HTTP/1.1",
        [b"Accept: y", b"Content-Length: 2", b"", b"{}"],
    )
    assert host.startswith(b"Host: 127.0.0.1:")


async def test_connection_that_shall_be_closed_is_not_kept() -> None:
    """`Connection: close`, an older protocol, or a body that ends with the connection."""
    for said in (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ):
        async with wire(lambda request, said=said: said) as (made, counts):  # type: ignore[misc]
            for _ in range(2):
                assert (await made.send("GET", "/", {}, None, 20)).body == b"ok"
        assert counts == [1, 1]


async def test_body_may_end_with_the_connection() -> None:
    """Without a length the end of the connection is the end of the body."""
    reader = HttpResponse()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nall of") is None
    assert reader.feed(b" it") is None
    found = reader.end()
    assert found is not None
    assert (found.body, reader.kept) == (b"all of it", False)
    cut = HttpResponse()
    assert cut.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") is None
    assert cut.end() is None


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST", "PATCH"])
async def test_kept_connection_that_was_closed_is_replaced_where_that_is_safe(method: str) -> None:
    """The server closes a kept connection when the second request comes: what may be done twice goes again."""
    asked = 0

    def answers(request: bytes) -> bytes | None:
        nonlocal asked
        asked += 1
        return None if asked == 2 else OK

    async with wire(answers) as (made, counts):
        await made.send("GET", "/", {}, None, 20)
        if method in ("POST", "PATCH"):
            with pytest.raises(ConnectionResetError):
                await made.send(method, "/", {}, b"", 20)
            assert counts == [2]
        else:
            assert (await made.send(method, "/", {}, None, 20)).body == b"ok"
            assert counts == [2, 1]


async def test_fresh_connection_that_is_closed_is_an_error() -> None:
    """A server that always closes is not asked for ever."""
    async with wire(lambda request: None) as (made, counts):
        with pytest.raises(ConnectionResetError, match="before its answer was whole"):
            await made.send("GET", "/", {}, None, 20)
    assert counts == [1]


async def test_answer_that_came_too_late_is_nobody_elses() -> None:
    """After a request that was given up its connection is not used again."""
    async with wire(lambda request: b"" if b"/slow" in request else OK) as (made, counts):
        await made.send("GET", "/", {}, None, 20)
        with pytest.raises(TimeoutError):
            await made.send("GET", "/slow", {}, None, 0.05)
        assert (await made.send("GET", "/", {}, None, 20)).body == b"ok"
    assert counts == [2, 1]


async def test_answer_that_comes_as_its_time_ends_is_the_answer() -> None:
    """Both in one turn of the loop: nothing is wrong, and nothing is reported to be."""
    loop = asyncio.get_running_loop()
    wrong: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: wrong.append(context))
    line = RequestLine(memoryview(bytearray(OK)))
    transport = Mock(spec=asyncio.Transport)
    transport.write = lambda _: loop.call_soon(line.buffer_updated, len(OK))
    line.connection_made(transport)
    assert (await line.ask(b"", loop.time())).body == b"ok"
    assert wrong == []


@pytest.mark.parametrize(("first", "second", "answered"), [(20.0, 0.02, False), (0.02, 20.0, True)])
async def test_each_request_has_its_own_time(first: float, second: float, *, answered: bool) -> None:
    """One timer lasts for several requests of a connection; a shorter time counts, and so does a longer one."""
    loop = asyncio.get_running_loop()
    line = RequestLine(memoryview(bytearray(OK)))
    transport = Mock(spec=asyncio.Transport)
    transport.write = lambda _: loop.call_soon(line.buffer_updated, len(OK))
    line.connection_made(transport)
    await line.ask(b"", loop.time() + first)
    transport.write = lambda _: loop.call_later(0.1, line.buffer_updated, len(OK)) if answered else None
    asked = line.ask(b"", loop.time() + second)
    if answered:
        assert (await asked).body == b"ok"
    else:
        with pytest.raises(TimeoutError, match="no answer in time"):
            await asyncio.wait_for(asked, 5)
    assert transport.abort.called != answered


async def test_connection_that_speaks_unasked_is_given_up() -> None:
    """Bytes that nobody waits for would be taken for the next answer."""
    async with wire(lambda request: OK + b"HTTP/1.1 200 OK\r\n\r\n") as (made, counts):
        with pytest.raises(ValueError, match="more than it was asked for"):
            await made.send("GET", "/", {}, None, 20)
        with pytest.raises(ValueError, match="more than it was asked for"):
            await made.send("GET", "/", {}, None, 20)
    assert counts == [1, 1]


async def test_at_most_so_many_requests_are_under_way() -> None:
    """Who comes beyond the limit waits for a place and takes over its connection."""
    async with wire(lambda request: OK, limit=2) as (made, counts):
        found = await asyncio.gather(*(made.send("GET", "/", {}, None, 20) for _ in range(9)))
    assert (len(counts), sum(counts)) == (2, 9)
    assert {each.body for each in found} == {b"ok"}


async def test_request_cannot_be_split() -> None:
    """Nothing from outside ends a line of the head."""
    async with wire(lambda request: OK) as (made, counts):
        with pytest.raises(ValueError, match="not a path"):
            await made.send("GET", "/a b", {}, None, 20)
        with pytest.raises(ValueError, match="the header Authorization"):
            await made.send("GET", "/", {"Authorization": "Bearer a\r\nX: y"}, None, 20)
    assert counts == []


async def test_nobody_there_is_not_connected() -> None:
    """A refused connection is told apart, for nothing was sent."""
    async with wire(lambda request: OK) as (made, _):
        pass
    again = Wire(f"http://127.0.0.1:{made._port}", tls=None, server_name="", limit=1)
    with pytest.raises(NotConnectedError):
        await again.send("GET", "/", {}, None, 20)


async def test_connections_nobody_used_for_long_are_parted_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server closes them about then, perhaps just as the next request is sent."""
    monkeypatch.setattr("fairlead.kube.wire.pool.KEEPALIVE_SECONDS", -1.0)
    async with wire(lambda request: OK) as (made, counts):
        for _ in range(2):
            await made.send("POST", "/", {}, b"", 20)
    assert counts == [1, 1]


@given(body=st.binary(max_size=300), size=st.integers(1, 80), cuts=st.lists(st.integers(0, 10_000), max_size=12))
def test_pieces_are_the_body(body: bytes, size: int, cuts: list[int]) -> None:
    """Taken at any moments, what was taken and what is left are all of it, once."""
    answer, taken, end = HttpResponse(), b"", None
    for piece in pieces(CHUNKED + chunked(body, size), cuts):
        end = answer.feed(piece)
        taken += answer.take()
    assert end is not None
    assert (answer.status, taken) == (200, body)


async def rest_of(flow: Flow) -> bytes:
    """All that is still to come."""
    found = bytearray()
    while piece := await flow.piece():
        found += piece
    assert await flow.piece() == b""
    return bytes(found)


async def followed(said: bytes) -> bytes:
    """All that a follower gets from a server that says this and then waits."""
    async with wire(lambda request: said) as (made, _):
        answer, flow = await made.follow("/", {}, 20)
        assert answer.status == 200
        return await rest_of(flow)


async def test_followed_answer_comes_to_its_end() -> None:
    """In chunks or by its length."""
    assert await followed(CHUNKED + chunked(b"one\ntwo\n", 4)) == b"one\ntwo\n"
    assert await followed(OK) == b"ok"


async def test_answer_without_end_is_taken_while_it_lasts() -> None:
    """What came is handed out at once; the time that was given ends it."""
    async with wire(lambda request: CHUNKED + b"4\r\none\n\r\n") as (made, _):
        _, flow = await made.follow("/", {}, 0.2)
        assert await flow.piece() == b"one\n"
        with pytest.raises(TimeoutError):
            await flow.piece()


async def test_refusal_is_read_whole() -> None:
    """Any code but 200 comes with its body, as for a short request."""
    said = b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\nRetry-After: 1\r\n\r\ngone"
    async with wire(lambda request: said) as (made, _):
        answer, _ = await made.follow("/", {}, 20)
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (410, b"gone", "1")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (None, ConnectionResetError),
        (b"nonsense\r\n\r\n", ValueError),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", ValueError),
        (b"", TimeoutError),
    ],
)
async def test_followed_answer_that_does_not_begin_is_an_error(said: bytes | None, error: type[Exception]) -> None:
    """Closed, no answer of HTTP, in a coding that was not asked for, or too late; nothing stays open."""
    async with wire(lambda request: said) as (made, _):
        with pytest.raises(error):
            await made.follow("/", {}, 0.2)
        await asyncio.sleep(0.05)
        assert not made._open


async def test_followed_answer_that_breaks_hands_out_what_came() -> None:
    """The error comes after the last piece."""
    async with wire(lambda request: CHUNKED + b"4\r\none\n\r\nnonsense\r\n") as (made, _):
        _, flow = await made.follow("/", {}, 20)
        assert await flow.piece() == b"one\n"
        with pytest.raises(ValueError, match="no chunk begins"):
            await flow.piece()


async def test_nobody_takes_and_little_is_read() -> None:
    """A slow follower holds the server back instead of filling our memory, and misses nothing."""
    body = b"".join(b"%07d\n" % number for number in range(500_000))
    async with wire(lambda request: CHUNKED + chunked(body, 5000)) as (made, _):
        _, flow = await made.follow("/", {}, 60)
        await asyncio.sleep(0.3)
        assert 0 < flow.answer.ready <= AHEAD + READ
        assert await rest_of(flow) == body


async def test_close_ends_those_who_follow() -> None:
    """A watch does not outlive the transport."""
    async with wire(lambda request: CHUNKED) as (made, _):
        _, flow = await made.follow("/", {}, 60)
        waits = asyncio.create_task(flow.piece())
        await asyncio.sleep(0)
        await made.close()
        with pytest.raises(ConnectionResetError):
            await waits
