"""The log of a component: one stream, one form, and a server that cannot be reached is told once a minute."""

import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import structlog

import fairlead.live
from fairlead.cli import fleet, scheduler, storage, webhook
from fairlead.kube.errors import ApiError, UnreachableError
from fairlead.live.runtime.logs import SeldomUnreachable, start_log

GONE = UnreachableError("GET /api/v1/nodes", "connection refused")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """The log of this process is as it was."""
    root, libraries = logging.getLogger(), ("aiohttp", "asyncio", "urllib3")
    handlers, level, levels = root.handlers[:], root.level, [logging.getLogger(name).level for name in libraries]
    yield
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level
    for name, before in zip(libraries, levels, strict=True):
        logging.getLogger(name).setLevel(before)


def lines(form: str = "json", level: str = "info") -> list[str]:
    """What two libraries and we ourselves log."""
    stream = io.StringIO()
    start_log(form, level, stream)
    structlog.get_logger("scheduler").info("would bind", pod="shop/web-1", node="n1")
    structlog.get_logger("scheduler").debug("thinks")
    logging.getLogger("fairlead.kube.lease").warning("lease %s: %s", "fairlead", ApiError(500, "InternalError", "x"))
    logging.getLogger("aiohttp.access").info("GET /")
    return stream.getvalue().splitlines()


def test_one_stream_has_every_line_in_one_form() -> None:
    """As JSON, whoever wrote it, with time, level and name."""
    first, second = (json.loads(line) for line in lines())
    assert first["timestamp"].endswith("Z")
    assert {key: first[key] for key in ("event", "level", "logger", "pod", "node")} == {
        "event": "would bind", "level": "info", "logger": "scheduler", "pod": "shop/web-1", "node": "n1",
    }  # fmt: skip
    assert (second["event"], second["level"]) == ("lease fairlead: 500 InternalError: x", "warning")


def test_console_is_for_people_and_without_colour_in_a_file() -> None:
    """The same lines as text."""
    first, second = lines("console")
    assert "[info     ] would bind" in first
    assert "node=n1 pod=shop/web-1" in first
    assert "lease fairlead: 500 InternalError: x" in second
    assert "\x1b" not in first


def test_level_is_the_least_that_is_logged() -> None:
    """Of ours and of the standard library's."""
    assert [json.loads(line)["level"] for line in lines(level="warning")] == ["warning"]
    assert [json.loads(line)["level"] for line in lines(level="debug")] == ["info", "debug", "warning"]


def test_unreachable_server_is_one_line_a_minute() -> None:
    """Watches, leases and rounds fail all the time: the first is told, then one a minute with how many were not."""
    now = 100.0
    stream = io.StringIO()
    start_log("json", "info", stream)
    (handler,) = logging.getLogger().handlers
    handler.filters = [SeldomUnreachable(lambda: now)]
    watch, rounds = logging.getLogger("fairlead.kube.watch"), structlog.get_logger("runtime")
    for _ in range(3):
        watch.warning("%s: %s; again in %.1f s", "nodes", GONE, 0.2)
        rounds.warning("round failed, the next one tries again", what="x", why=GONE)
    watch.warning("%s: %s", "nodes", ApiError(500, "InternalError", "another matter"))
    now += 60
    rounds.warning("round failed, the next one tries again", what="x", why=GONE)
    watch.warning("%s: %s", "nodes", GONE)
    now += 60
    watch.warning("%s: %s", "nodes", GONE)
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [each["event"] for each in told] == [
        "nodes: GET /api/v1/nodes: connection refused; again in 0.2 s",
        "nodes: 500 InternalError: another matter",
        "round failed, the next one tries again",
        "nodes: GET /api/v1/nodes: connection refused (1 lines like this were left out)",
    ]
    assert (told[2]["left_out"], told[2]["why"]) == (5, str(GONE))


def test_refused_credentials_are_one_line_a_minute() -> None:
    """An expired token fails every watch and the lease alike; a server that is away meanwhile is told all the same."""
    now = 100.0
    stream = io.StringIO()
    start_log("json", "info", stream)
    (handler,) = logging.getLogger().handlers
    handler.filters = [SeldomUnreachable(lambda: now)]
    watch = logging.getLogger("fairlead.kube.watch")
    for kind in ("nodes", "pods", "queues"):
        watch.warning("%s: %s; again in %.1f s", kind, ApiError(401, "Unauthorized", "Unauthorized"), 0.2)
    watch.warning("%s: %s", "nodes", GONE)
    watch.warning("%s: %s", "nodes", ApiError(403, "Forbidden", "another right for each kind"))
    now += 60
    watch.warning("%s: %s", "pods", ApiError(401, "Unauthorized", "Unauthorized"))
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == [
        "nodes: 401 Unauthorized: Unauthorized; again in 0.2 s",
        "nodes: GET /api/v1/nodes: connection refused",
        "nodes: 403 Forbidden: another right for each kind",
        "pods: 401 Unauthorized: Unauthorized (2 lines like this were left out)",
    ]


@pytest.mark.parametrize("component", [scheduler, webhook, fleet, storage], ids=lambda each: each.__name__)
def test_every_component_takes_the_options(component: object) -> None:
    """The same two on all four."""
    command = component.command  # type: ignore[attr-defined]
    assert isinstance(command, click.Command)
    assert {"log_format", "log_level"} <= {each.name for each in command.params}


def hidden(tree: ast.AST) -> list[int]:
    """Lines of log calls that are given the words of an error that was caught, not the error itself."""
    return [
        call.lineno
        for handler in ast.walk(tree)
        if isinstance(handler, ast.ExceptHandler) and handler.name
        for call in ast.walk(handler)
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("log.")
        for given in (*call.args, *(each.value for each in call.keywords))
        if ast.unparse(given) == f"str({handler.name})"
    ]


def test_errors_are_logged_as_errors() -> None:
    """Only then can one be told that is about a server that cannot be reached, and left out for a minute."""
    assert hidden(ast.parse("try: a()\nexcept E as e:\n  log.info('x', why=str(e))\n  log.info('y', why=e)")) == [3]
    below = Path(fairlead.live.__file__).parent
    found = {path.name: lines for path in sorted(below.rglob("*.py")) if (lines := hidden(ast.parse(path.read_text())))}
    assert found == {}
