"""The routes: records, streams, what is refused, and the headers that every answer has."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer

from fairlead.engine.plan_settings import PlanSettings
from fairlead.model.errors import InputError
from fairlead.web import server
from fairlead.web.guard import TOKEN_HEADER
from fairlead.web.serve import LOOPBACK, address, serve
from fairlead.web.server import Shown, application
from fairlead.web.source_files import FileSource
from fairlead.web.stage import ViewStage
from fairlead.web.views import VIEWS, Look
from tests.web.looks import deployment, look_at, node
from tests.web.patching import patched

Client = TestClient[Any, Any]


@asynccontextmanager
async def served(look: Look, *, token: str = "", hosts: frozenset[str] | None = None) -> AsyncIterator[Client]:
    """A client of a server that shows the look."""
    stage = ViewStage("test")
    await stage.show(look)
    async with TestClient(TestServer(application(Shown(stage), token=token, hosts=hosts))) as client:
        yield client


def stage_of(client: Client) -> ViewStage:
    """The stage behind a client."""
    app = client.server.app
    stage: ViewStage = app[server.SHOWN].stage
    return stage


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two nodes and a deployment of which two replicas wait."""
    (tmp_path / "all.yaml").write_text(node("n1") + node("n2", zone="b") + deployment("web", 10))
    return tmp_path


async def line(response: ClientResponse) -> dict[str, Any]:
    """The next line of a stream."""
    found: dict[str, Any] = json.loads(await response.content.readline())
    return found


@pytest.mark.parametrize("view", [*VIEWS, "history", "about"])
async def test_every_view_has_its_json(view: str, folder: Path) -> None:
    """With the headers that keep it where it belongs."""
    async with served(look_at(folder)) as client, client.get(f"/{view}.json") as response:
        assert response.status == 200
        assert isinstance(await response.json(), dict)
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in response.headers


async def test_page_asks_for_nothing_but_relative_addresses(built: Path) -> None:
    """So that it works behind any path; an address elsewhere would be refused."""
    async with served(Look(title="test")) as client, client.get("/") as response:
        text = await response.text()
    assert 'src="app.js"' in text
    assert 'href="app.css"' in text
    assert "http" not in text


async def test_page_that_is_not_built_says_what_to_do(unbuilt: None) -> None:
    """In one sentence."""
    async with served(Look(title="test")) as client, client.get("/") as response:
        assert response.status == 400
        assert "make page" in (await response.json())["error"]["message"]


@pytest.mark.parametrize(
    ("address", "words"),
    {
        "/nothing.json": "is no view",
        "/node.json?node=x": "there is no node 'x'",
        "/whatif.json": "no change is asked for",
        "/whatif.json?scale=web": "expected NAME=VALUE",
        "/whatif.json?addNodes=x&like=n1": "not a whole number",
        "/map.json?at=5": "has no moments",
        "/simulation.json": "is no scenario",
        "/stream?view=nothing": "is no view",
    }.items(),
)
async def test_bad_question_is_answered_with_what_is_wrong(address: str, words: str, folder: Path) -> None:
    """As JSON, with a place and a message."""
    async with served(look_at(folder)) as client, client.get(address) as response:
        assert response.status == 400
        assert words in (await response.json())["error"]["message"]


async def test_question_before_the_plan_is_answered_with_later() -> None:
    """Nothing fails."""
    async with served(Look(title="test")) as client, client.get("/node.json?node=x") as response:
        assert "not made yet" in (await response.json())["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_nothing_can_be_written(method: str, folder: Path) -> None:
    """Only GET has routes."""
    async with served(look_at(folder)) as client, client.request(method, "/plan.json") as response:
        assert response.status == 405


async def test_token_is_needed_for_every_record_and_for_nothing_else(folder: Path, built: Path) -> None:
    """The page itself has nothing secret in it: it asks for the token."""
    async with served(look_at(folder), token="secret") as client:
        for path, header, status in (
            ("/", {}, 200),
            ("/app.js", {}, 200),
            ("/plan.json", {}, 401),
            ("/stream?view=map", {}, 401),
            ("/plan.json", {TOKEN_HEADER: "wrong"}, 401),
            ("/plan.json", {TOKEN_HEADER: "secret"}, 200),
        ):
            async with client.get(path, headers=header) as response:
                assert (path, response.status) == (path, status)
                assert "Content-Security-Policy" in response.headers


async def test_other_host_names_are_refused_on_the_loopback(folder: Path) -> None:
    """A page of another site that has its name point here gets nothing."""
    async with served(look_at(folder), hosts=LOOPBACK) as client:
        for host, status in (("localhost:8123", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.example", 403)):
            async with client.get("/plan.json", headers={"Host": host}) as response:
                assert (host, response.status) == (host, status)


async def test_stream_sends_the_record_then_only_what_changed(folder: Path) -> None:
    """What the patch makes of the first record is the new record."""
    async with (
        served(look_at(folder)) as client,
        client.get("/stream?view=waiting&view=map", headers={"Accept-Encoding": ""}) as response,
    ):
        first = {found["view"]: found for found in [await line(response), await line(response)]}
        (folder / "all.yaml").write_text(node("n1") + node("n2", zone="b") + deployment("web", 9))
        changed = look_at(folder)
        await stage_of(client).show(changed)
        news = await line(response)
        assert (news["view"], "record" in news) == ("waiting", False)
        assert patched(first["waiting"]["record"], news["patch"]) == VIEWS["waiting"](changed)
        again = await line(response)
        # The nodes are as full as before: the map has a new revision and no patch.
        assert (again["view"], "patch" in again, "record" in again) == ("map", False, False)


async def test_reader_that_comes_back_gets_what_it_missed(folder: Path) -> None:
    """The patch where it missed one revision, the record where it missed more."""
    async with served(look_at(folder)) as client:
        stage = stage_of(client)
        before, _ = await stage.record("waiting")
        (folder / "all.yaml").write_text(node("n1") + deployment("web", 9))
        await stage.show(look_at(folder))
        assert (await stage.news("waiting", before)).patch is not None
        await stage.show(look_at(folder))
        assert (await stage.news("waiting", before)).record is not None
        now, _ = await stage.record("waiting")
        assert (await stage.news("waiting", now)).record is None


async def test_compressed_stream_leaves_line_by_line(folder: Path) -> None:
    """A browser sees the first record at once, not when a buffer is full."""
    async with (
        served(look_at(folder)) as client,
        client.get("/stream?view=overview", headers={"Accept-Encoding": "gzip"}) as response,
    ):
        assert response.headers["Content-Encoding"] == "gzip"
        assert (await line(response))["record"]["planned"] is True


async def test_streams_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One too many is refused."""
    monkeypatch.setattr(server, "STREAMS", 1)
    async with (
        served(look_at(folder)) as client,
        client.get("/stream?view=map", headers={"Accept-Encoding": ""}) as first,
    ):
        await line(first)
        async with client.get("/stream?view=map") as second:
            assert second.status == 503


async def test_file_source_plans_by_its_settings(folder: Path) -> None:
    """As `fairlead plan --config` does: here a workload is placed as nodes are used."""
    shown: list[Look] = []

    class Kept(ViewStage):
        async def show(self, look: Look) -> None:
            shown.append(look)

    await FileSource([str(folder)], settings=PlanSettings(strategy="global-greedy")).show(Kept("test"))
    assert {each.strategy for each in shown[-1].view.sites[0].workloads} == {"global-greedy"}


async def test_defect_of_planning_files_is_told_and_does_not_end_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next state of the files is planned again."""

    def defective(*given: object) -> None:
        raise ZeroDivisionError("too thin")

    stage, source = ViewStage("test"), FileSource([str(folder)])
    with monkeypatch.context() as patch:
        patch.setattr("fairlead.web.source_files.plan", defective)
        await source.show(stage)
    assert stage.look.trouble.startswith("a defect of Fairlead: ZeroDivisionError at test_server.py:")
    await source.show(stage)
    assert not stage.look.trouble
    assert stage.look.decided is not None


async def test_file_source_shows_nodes_then_the_plan_and_follows_changes(folder: Path) -> None:
    """A file that is written again is read again; one that breaks is told."""
    shown: list[Look] = []
    turn = asyncio.Event()

    class Kept(ViewStage):
        async def show(self, look: Look) -> None:
            shown.append(look)

    async def pause(seconds: float) -> None:
        turn.set()
        await gate.wait()
        gate.clear()

    gate = asyncio.Event()
    running = asyncio.create_task(FileSource([str(folder)], sleep=pause).run(Kept("test")))
    for text in ("", node("n9") + deployment("web", 1), "kind: ["):
        if text:
            (folder / "all.yaml").write_text(text)
            gate.set()
        await turn.wait()
        turn.clear()
    running.cancel()
    assert [look.decided is None for look in shown[:4]] == [True, False, True, False]
    assert shown[3].view.sites[0].nodes.names == ("n9",)
    assert shown[-1].found.errors


@pytest.mark.parametrize("host", ["0.0.0..0", "a" * 64, "no.such.host.invalid"])
async def test_address_that_cannot_be_had_is_named(host: str, folder: Path) -> None:
    """Also where no host can be called so."""
    with pytest.raises(InputError, match=f"^--listen: {host}:0: "):
        await serve(FileSource([str(folder)]), address(f"{host}:0", "secret"), print)
