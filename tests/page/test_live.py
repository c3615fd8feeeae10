"""The page of a live cluster, on the real API server: what happens there is seen without loading anything again."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tools.controlplane.api import Api

from tests.cluster.test_scheduler import create, scheduler, workload
from tests.page.conftest import Serve, violations

Opened = Callable[..., Page]


def test_pod_waits_is_explained_gets_room_and_runs(
    api: Api,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    serve: Serve,
    opened: Opened,
) -> None:
    """From the first look to the running pod, on one page that is never loaded again."""
    kwok_nodes(1, cpu="1", labels={"pool": namespace})
    page = opened(serve("--cluster", "--kubeconfig", str(kubeconfig)).url, "waiting")
    expect(page.get_by_text("Nothing waits.")).to_be_visible()
    with scheduler(kubeconfig, "--no-leader-election"):
        create(api, namespace, workload(namespace, "big", 1, cpu="4"))
        link = page.get_by_role("link", name=f"{namespace}/big")
        expect(link).to_be_visible()
        link.click()
        expect(page.locator(".lines")).to_contain_text("InsufficientRoom")
        assert violations(page) == []
        kwok_nodes(1, cpu="8", labels={"pool": namespace})
        drawing = page.locator("svg.path")
        expect(drawing).to_contain_text("1 running")
    page.get_by_role("link", name="Waiting", exact=True).click()
    expect(page.get_by_text("Nothing waits.")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".changes")).to_contain_text(f"{namespace}/big")
