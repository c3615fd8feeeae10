"""The routes: the page, a `.json` for every view, what-ifs, and a stream of what changed. Nothing can be written."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import msgspec
from aiohttp import web

from fairlead.dataclass import dataclass
from fairlead.engine.changes import Changes, whole
from fairlead.engine.plan import Plan
from fairlead.model.errors import FairleadError, InputError
from fairlead.web import assets
from fairlead.web.about import about_record
from fairlead.web.guard import guard, harden
from fairlead.web.lines import LineWriter, opened
from fairlead.web.replay import Replay
from fairlead.web.stage import News, ViewStage
from fairlead.web.views import QUESTIONS, VIEWS, Look, Record, what_if

BEAT_S = 15.0
"""A stream says something at least this often, so that both ends notice when the other is gone."""
STREAMS = 64
QUESTIONS_AT_ONCE = 2
"""Streams that may be open, and questions that are worked on, at once."""
COMPRESSED = 1024


@dataclass(slots=True)
class Shown:
    """What one server shows: a stage, and a replay where the source is a scenario."""

    stage: ViewStage
    replay: Replay | None = None
    live: bool = False
    streams: int = 0
    asking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(QUESTIONS_AT_ONCE))


SHOWN = web.AppKey("shown", Shown)


def application(shown: Shown, *, token: str = "", hosts: frozenset[str] | None = None) -> web.Application:
    """The server's application. With `token` every record needs it; with `hosts` only these names are answered."""
    app = web.Application(middlewares=[guard(token=token, hosts=hosts), _answered])
    app[SHOWN] = shown
    app.on_response_prepare.append(harden)
    app.add_routes(
        [
            web.get("/", _index),
            web.get(f"/{assets.SCRIPT}", _script),
            web.get(f"/{assets.STYLE}", _style),
            web.get("/about.json", _about),
            web.get("/simulation.json", _simulation),
            web.get("/whatif.json", _what_if),
            web.get("/stream", _stream),
            web.get("/{view}.json", _view),
        ]
    )
    return app


@web.middleware
async def _answered(request: web.Request, handler: Any) -> web.StreamResponse:
    """Bad questions get one line of JSON that says what is wrong with them."""
    try:
        response: web.StreamResponse = await handler(request)
    except FairleadError as error:
        path, message = (error.path, error.message) if isinstance(error, InputError) else ("", str(error))
        response = _json({"error": {"path": path, "message": message}}, status=400)
    return response


async def _index(request: web.Request) -> web.Response:
    assets.asset(assets.SCRIPT)
    return web.Response(text=assets.index(), content_type="text/html")


async def _script(request: web.Request) -> web.Response:
    return _file(assets.SCRIPT, "text/javascript")


async def _style(request: web.Request) -> web.Response:
    return _file(assets.STYLE, "text/css")


def _file(name: str, kind: str) -> web.Response:
    response = web.Response(text=assets.asset(name), content_type=kind)
    response.enable_compression()
    return response


async def _about(request: web.Request) -> web.Response:
    shown = request.app[SHOWN]
    return _json(about_record(shown.stage.look.title, shown.replay, live=shown.live))


async def _simulation(request: web.Request) -> web.Response:
    replay = request.app[SHOWN].replay
    if replay is None:
        raise InputError("simulation", "this source is no scenario; start with --scenario FILE")
    return _json(replay.record())


async def _view(request: web.Request) -> web.Response:
    shown, view = request.app[SHOWN], request.match_info["view"]
    if view in QUESTIONS:
        look, decided = await _decided(shown, request.query)
        return _json(await asyncio.to_thread(QUESTIONS[view], look, decided, request.query))
    shown.stage.known(view)
    moment = await _moment(shown, request.query)
    if moment is not None and view in VIEWS:
        return _json(await asyncio.to_thread(VIEWS[view], moment))
    revision, record = await shown.stage.record(view)
    return _json(record, revision=revision)


async def _moment(shown: Shown, query: Mapping[str, str]) -> Look | None:
    """The moment of a replay that the address names; None where it names none."""
    if "at" not in query:
        return None
    if shown.replay is None:
        raise InputError("at", "this source has no moments; start with --scenario FILE")
    return await shown.replay.look(query.get("policy", ""), whole("at", query["at"]))


async def _decided(shown: Shown, query: Mapping[str, str]) -> tuple[Look, Plan]:
    look = await _moment(shown, query) or shown.stage.look
    if look.decided is None:
        raise InputError("plan", "the plan is not made yet; ask again")
    return look, look.decided


async def _what_if(request: web.Request) -> web.Response:
    shown, query = request.app[SHOWN], request.query
    look, decided = await _decided(shown, query)
    more = query.get("addNodes", "")
    asked = Changes(
        drain=tuple(query.getall("drain", [])),
        lose=tuple(query.getall("lose", [])),
        add_nodes=whole("addNodes", more) if more else None,
        like=query.get("like", ""),
        scale=tuple(query.getall("scale", [])),
        weight=tuple(query.getall("weight", [])),
    )
    async with shown.asking:
        return _json(await asyncio.to_thread(what_if, look, decided, asked))


async def _stream(request: web.Request) -> web.StreamResponse:
    """Several views followed over one connection, one JSON a line: `view` and `revision` with `record` or `patch`.

    `view=NAME` or `view=NAME:REVISION` (the one that the reader has); an empty object comes now and then.
    """
    shown = request.app[SHOWN]
    seen = _seen(shown.stage, request.query.getall("view", []))
    if shown.streams >= STREAMS:
        return _json({"error": {"path": "stream", "message": f"{STREAMS} streams are open already"}}, status=503)
    shown.streams += 1
    try:
        writer = await opened(request)
        await _follow(writer, shown.stage, seen)
        return writer.response
    finally:
        shown.streams -= 1


def _seen(stage: ViewStage, views: Sequence[str]) -> dict[str, int]:
    """The views that a stream follows, with the revision that the reader has of each (0: none)."""
    seen = {}
    for each in views or ["overview"]:
        view, _, revision = each.partition(":")
        stage.known(view)
        seen[view] = whole("view", revision or "0")
    return seen


async def _follow(writer: LineWriter, stage: ViewStage, seen: dict[str, int]) -> None:
    while True:
        revision = stage.revision
        for view in seen:
            news = await stage.news(view, seen[view])
            if news.revision != seen[view]:
                seen[view] = news.revision
                await writer.write(_line(view, news))
        if not await stage.newer(revision, BEAT_S):
            await writer.write(b"{}\n")


def _line(view: str, news: News) -> bytes:
    record: Record = {"view": view, "revision": news.revision}
    if news.record is not None:
        record["record"] = news.record
    elif news.patch is not None:
        record["patch"] = news.patch
    return msgspec.json.encode(record) + b"\n"


def _json(record: Record, *, status: int = 200, revision: int | None = None) -> web.Response:
    body = msgspec.json.encode(record)
    response = web.Response(body=body, status=status, content_type="application/json")
    if revision is not None:
        response.headers["X-Revision"] = str(revision)
    if len(body) > COMPRESSED:
        response.enable_compression()
    return response
