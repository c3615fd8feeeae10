"""A browser and a served page for each test. Every test in this folder is marked `page` (`make test-install`).

A page that asks for anything outside its origin, or writes an error to the console, fails its test.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, Request, expect, sync_playwright

from tests.cluster.conftest import api, control_plane, kubeconfig, kwok_nodes, namespace

__all__ = ["api", "control_plane", "kubeconfig", "kwok_nodes", "namespace"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
AXE = ROOT / "page" / "node_modules" / "axe-core" / "axe.min.js"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DEADLINE_MS = 60_000
expect.set_options(timeout=DEADLINE_MS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here, before anything is selected by mark."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.page)


class Served:
    """A running `fairlead ui`."""

    def __init__(self, words: tuple[str, ...], listen: str) -> None:
        self.words = words
        command = [sys.executable, "-m", "fairlead", "ui", *words, "--no-open", "--listen", listen]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stderr is not None
        self.url = ""
        for line in self._process.stderr:
            found = re.search(r"the page is at (\S+)", line)
            if found:
                self.url = found[1]
                break
        assert self.url, f"no page: {command}"

    @property
    def listen(self) -> str:
        """The address, so that another server can take it."""
        return self.url.removeprefix("http://").rstrip("/")

    def stop(self) -> None:
        """End it, and wait for the end."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.communicate()


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers that end with the test."""
    running: list[Served] = []

    def start(*words: str, listen: str = "127.0.0.1:0") -> Served:
        running.append(Served(words, listen))
        return running[-1]

    yield start
    for each in running:
        each.stop()


@pytest.fixture(scope="session")
def shop() -> Iterator[str]:
    """The address of a page of examples/shop."""
    served = Served(("-f", "examples/shop"), "127.0.0.1:0")
    yield served.url
    served.stop()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """The driver, for the whole run."""
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Debian's Chromium."""
    path = os.environ.get("FAIRLEAD_BROWSER") or shutil.which("chromium")
    assert path, "no Chromium; `make test-install` installs it where it may"
    opened = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
    yield opened
    opened.close()


class Watch:
    """What a page did that it should not."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.expected: list[str] = []
        """Parts of console messages that a test brings about on purpose."""

    def follow(self, page: Page) -> None:
        """Listen to a page."""
        page.on("request", self._asked)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def check(self) -> None:
        """Nothing from outside, nothing on the console."""
        own = ("http://127.0.0.1:", "data:", "blob:", "file:")
        assert [url for url in self.requests if not url.startswith(own)] == []
        assert [text for text in self.errors if not any(part in text for part in self.expected)] == []


@pytest.fixture
def watch() -> Watch:
    """What is expected of the pages of a test."""
    return Watch()


@pytest.fixture
def opened(browser: Browser, watch: Watch) -> Iterator[Callable[..., Page]]:
    """Opens pages: `opened(url, view, width=…, dark=…)`."""
    pages: list[Page] = []

    def new(url: str, view: str = "overview", *, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        page.set_default_timeout(DEADLINE_MS)
        watch.follow(page)
        page.goto(f"{url}#/{view}")
        page.wait_for_selector("main section.card, main .empty, .token")
        pages.append(page)
        return page

    yield new
    for page in pages:
        page.close()
    watch.check()


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong, in a few words."""
    # Not as a script element: the page's own policy refuses those that are not its own.
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run(document)")["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]
