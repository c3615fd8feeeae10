"""What people do on the page: by keyboard, by clicking, with files that change and servers that go."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fairlead.cli.main import cli
from tests.page.conftest import Serve, Watch, violations
from tests.web.looks import deployment, node

Opened = Callable[..., Page]
HTML = '<img src=x onerror="document.title=1">'


def test_keyboard_alone_reaches_a_node(shop: str, opened: Opened) -> None:
    """Skip link, tiles by arrow keys with their numbers as text, Enter shows the node."""
    page = opened(shop, "map")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    tiles = page.get_by_role("slider", name="cluster-map")
    expect(tiles).to_be_visible()  # what is not there yet cannot be reached, and Tab goes on
    for _ in range(12):
        page.keyboard.press("Tab")
        if tiles.evaluate("each => each === document.activeElement"):
            break
    expect(tiles).to_be_focused()
    page.keyboard.press("End")
    assert "cpu" in (tiles.get_attribute("aria-valuetext") or "")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Node west-spot-3")).to_be_visible()
    assert "node=west-spot-3" in page.url
    assert violations(page) == []


def test_waiting_leads_to_the_path_and_to_a_what_if(shop: str, opened: Opened) -> None:
    """From a reason to the workload, from a node to why not, from a button to the map after it."""
    page = opened(shop, "waiting")
    page.get_by_role("link", name="ml/train").click()
    tiles = page.get_by_role("slider", name="nodes-of-ml-train")
    tiles.click(position={"x": 30, "y": 60})
    expect(page.get_by_text("north-od-1")).not_to_have_count(0)
    expect(page.locator(".answer")).to_contain_text("ml/train has no replicas on cluster north")
    page.get_by_label("Scale: number").fill("30")
    page.locator("form", has_text="Scale").get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="replicas: Job/ml/train=30")).to_be_visible()
    expect(page.locator(".big", has_text="Waiting").locator(".value")).to_contain_text("6 → 26")
    expect(page.locator("figure canvas")).to_have_count(2)
    assert violations(page) == []


def test_address_shows_the_same_again(shop: str, opened: Opened) -> None:
    """Everything that was chosen is in it."""
    page = opened(shop, "map")
    page.get_by_label("Colour by").select_option("memory")
    page.get_by_label("Group by").select_option("tier")
    again = opened(page.url.partition("#")[0], page.url.partition("#/")[2])
    expect(again.get_by_label("Colour by")).to_have_value("memory")
    expect(again.get_by_label("Group by")).to_have_value("tier")


@pytest.mark.parametrize("view", ["map", "workload?workload=Deployment/shop/web", "queues"])
def test_pictures_are_saved(view: str, shop: str, opened: Opened, tmp_path: Path) -> None:
    """As SVG with its own colours, and as PNG."""
    page = opened(shop, view)
    for kind, first in (("SVG", b"<"), ("PNG", b"\x89PNG")):
        with page.expect_download() as waited:
            page.get_by_role("button", name=f"Save {kind}").first.click()
        target = tmp_path / f"picture.{kind.lower()}"
        waited.value.save_as(target)
        content = target.read_bytes()
        assert content.startswith(first)
        assert b"var(--" not in content


def test_changed_file_is_seen_and_a_broken_one_is_told(serve: Serve, opened: Opened, tmp_path: Path) -> None:
    """Without loading the page again; the rest is drawn."""
    file = tmp_path / "all.yaml"
    file.write_text(node("n1") + deployment("web", 9))
    page = opened(serve("-f", str(tmp_path)).url)
    waiting = page.locator(".big", has_text="Waiting").locator(".value")
    expect(waiting).to_have_text("5")
    file.write_text(node("n1") + node("n2") + deployment("web", 7))
    expect(waiting).to_have_text("0")
    (tmp_path / "broken.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: [")
    expect(page.locator("#mistakes")).to_contain_text("broken.yaml:")
    expect(waiting).to_have_text("0")
    expect(page.get_by_role("heading", name="Lately")).to_be_visible()
    assert violations(page) == []


def test_names_with_html_are_text(serve: Serve, opened: Opened, tmp_path: Path) -> None:
    """In tables, drawings, tips and addresses."""
    objects = node("n1") + deployment("web", 9)
    (tmp_path / "all.yaml").write_text(
        objects.replace("name: web,", f"name: '{HTML}',").replace("name: n1,", f"name: '{HTML}',")
    )
    served = serve("-f", str(tmp_path))
    for view in ("overview", "map", "queues", "waiting", "workloads"):
        page = opened(served.url, view)
        expect(page.locator("main section.card").first).to_be_visible()
        assert page.locator("img").count() == 0
        assert "Fairlead" in page.title()
    page = opened(served.url, "waiting")
    page.get_by_role("link", name=HTML).click()
    expect(page.locator("h2.title")).to_contain_text(HTML)
    assert page.locator("img").count() == 0


def test_server_that_goes_and_comes_back(serve: Serve, opened: Opened, watch: Watch) -> None:
    """The page says so, keeps what it has, and goes on by itself."""
    watch.expected.append("ERR_CONNECTION_REFUSED")
    watch.expected.append("ERR_INCOMPLETE_CHUNKED_ENCODING")
    watch.expected.append("ERR_CONNECTION_RESET")
    first = serve("-f", "examples/shop")
    page = opened(first.url)
    expect(page.locator(".big", has_text="Waiting")).to_be_visible()
    first.stop()
    expect(page.locator(".trouble").first).to_be_visible()
    expect(page.locator(".big", has_text="Waiting")).to_be_visible()
    serve("-f", "examples/shop", listen=first.listen)
    expect(page.locator(".trouble")).to_have_count(0)
    page.get_by_role("link", name="Tiers").click()
    expect(page.get_by_role("heading", name="Tiers of west")).to_be_visible()


def test_token_is_asked_for_and_sent(serve: Serve, opened: Opened, watch: Watch, tmp_path: Path) -> None:
    """Without it nothing is shown."""
    watch.expected.append("401")
    (tmp_path / "token").write_text("secret\n")
    served = serve("-f", "examples/shop", "--token-file", str(tmp_path / "token"))
    page = opened(served.url)
    assert violations(page) == []
    page.get_by_label("This server asks for a token").fill("secret")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".big", has_text="Waiting")).to_be_visible()


def test_saved_plan_and_report_need_no_server(opened: Opened, tmp_path: Path) -> None:
    """Opened from a file: the same views, offline."""
    plan, report = tmp_path / "plan.html", tmp_path / "report.html"
    cli.main(["plan", "-f", "examples/shop", "--html", str(plan), "-o", "json"], standalone_mode=False)
    words = ["simulate", "examples/gpu-queue/scenario.yaml", "--until", "4h", "--html", str(report), "-o", "json"]
    cli.main(words, standalone_mode=False)
    page = opened(plan.as_uri(), "queues")
    expect(page.get_by_role("heading", name="Queues of west")).to_be_visible()
    page.get_by_role("link", name="ml/train").click()
    expect(page.get_by_text("Queue batch: 8 of 10 may start").first).to_be_visible()
    assert violations(page) == []
    charts = opened(report.as_uri(), "")
    expect(charts.get_by_role("img", name="Use of nvidia.com/gpu")).to_be_visible()
    assert violations(charts) == []
