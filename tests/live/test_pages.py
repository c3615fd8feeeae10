"""The pages of components: on a listener of their own, rendered beside the loop from what was known at the question."""

import threading
import urllib.request
from asyncio import to_thread
from collections.abc import Callable, Mapping
from urllib.error import HTTPError

import click
import pytest
from prometheus_client import CollectorRegistry

from fairlead.cli import fleet, scheduler, storage
from fairlead.live.runtime.health import health_server
from fairlead.live.runtime.pages import pages_server
from fairlead.live.runtime.pulse import Pulse


def read(port: int, path: str) -> bytes:
    """A page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return bytes(answer.read())


async def test_page_takes_on_the_loop_and_renders_in_a_thread() -> None:
    """The state is read where it is changed; the long work is done elsewhere."""
    here, threads = threading.current_thread(), []

    def page(query: Mapping[str, str]) -> Callable[[], bytes]:
        threads.append(threading.current_thread())

        def render() -> bytes:
            threads.append(threading.current_thread())
            return query["pod"].encode()

        return render

    async with pages_server("127.0.0.1:0", {"/explain": page}) as port:
        assert await to_thread(read, port, "/explain?pod=a/b") == b"a/b"
    assert threads[0] is here
    assert threads[1] is not here


async def test_address_that_is_taken_leaves_the_work_going_on() -> None:
    """Two on one machine: the second has no pages, and works."""
    async with pages_server("127.0.0.1:0", {}) as port, pages_server(f"127.0.0.1:{port}", {}) as second:
        assert (port > 0, second) == (True, 0)


@pytest.mark.parametrize(
    ("component", "address", "path"),
    [
        (scheduler.command, "127.0.0.1:8081", "/snapshot"),
        (fleet.command, "127.0.0.1:8082", "/decisions"),
        (storage.command, "127.0.0.1:8083", "/report"),
    ],
)
def test_pages_are_on_the_loopback_unless_told_otherwise(component: click.Command, address: str, path: str) -> None:
    """`kubectl port-forward` reaches them there, other pods do not; on one machine each has its own port."""
    (option,) = (each for each in component.params if each.name == "pages")
    assert isinstance(option, click.Option)
    assert option.default == address
    assert path in (option.help or "")


async def test_health_address_serves_no_pages() -> None:
    """Whoever may scrape metrics learns nothing of bindings and volumes."""
    pulse = Pulse(lambda: 0.0)
    async with health_server("127.0.0.1:0", CollectorRegistry(), lambda: True, pulse) as port:
        for path in ("/decisions", "/report", "/snapshot"):
            with pytest.raises(HTTPError, match="404"):
                await to_thread(read, port, path)
