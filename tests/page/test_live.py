"""The page of a live cluster, on the real API server: what happens there is seen without loading anything again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from tools.controlplane.api import Api

from tests.cluster import volcano
from tests.cluster.test_fairness import add, evicting, high, running
from tests.cluster.test_scheduler import create, scheduler, workload
from tests.page.conftest import Serve, violations

__all__ = ["evicting", "high"]

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


def test_evictions_say_by_whom_for_whom(
    api: Api,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    evicting: dict[str, Any],
    high: str,
    tmp_path: Path,
    serve: Serve,
    opened: Opened,
) -> None:
    """Gangs are bars over time; what one loses to another is marked on its bar and listed."""
    volcano.install(api)
    kwok_nodes(1, cpu="4")
    page = opened(serve("--cluster", "--kubeconfig", str(kubeconfig)).url, "queues")
    with running(kubeconfig, tmp_path, **evicting):
        volcano.make_gang(api, namespace, "low", 4, 1)
        api.wait("low runs", lambda: volcano.bound(api, namespace)["low"] == 4, seconds=180)
        expect(page.locator("svg.gangs")).to_contain_text(f"{namespace}/low"[-20:])
        volcano.make_group(api, namespace, "high", 2)
        add(api, namespace, "high", 2, priorityClassName=high)
        api.wait("high runs", lambda: volcano.bound(api, namespace)["high"] == 2, seconds=180)
    said = f"2 evicted for PodGroup/{namespace}/high by Fairlead's scheduler at"
    expect(page.locator("svg.gangs path.evicted title")).to_contain_text(said)
    page.get_by_text("2 evicted: by whom, for whom").click()
    row = page.get_by_role("table", name="Evictions").get_by_role("row").nth(1)
    expect(row).to_contain_text(f"PodGroup/{namespace}/low")
    expect(row).to_contain_text(f"PodGroup/{namespace}/high")
    expect(row).to_contain_text("Fairlead's scheduler")
    assert violations(page) == []
