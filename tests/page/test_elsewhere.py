"""The page where it is not alone on its address: behind the API server's proxy, and with several clusters in one."""

import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect
from tools.controlplane.api import Api
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from tests.page.conftest import Serve, Watch

Opened = Callable[..., Page]
TOKEN = "kept-by-the-tab"


def own_address() -> str:
    """An address of this machine that is not its loopback: the API server's proxy refuses that one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        return str(probe.getsockname()[0])


@contextmanager
def kubectl_proxy(kubeconfig: Path) -> Iterator[str]:
    """The address of a `kubectl proxy`."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("NOT TESTED behind the API server's proxy: kubectl is missing")
    command = [program, "--kubeconfig", str(kubeconfig), "proxy", "--port=0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert found
        yield f"http://{found[0]}"
    finally:
        process.terminate()
        process.communicate()


def test_page_behind_the_proxy_of_the_api_server(
    api: Api, kubeconfig: Path, namespace: str, serve: Serve, opened: Opened, watch: Watch, tmp_path: Path
) -> None:
    """Every address is relative: the page, its records and its stream work below a path that it does not know."""
    watch.expected += ["401", "ERR_INCOMPLETE_CHUNKED_ENCODING"]  # the token is asked for; the proxy ends the stream
    (tmp_path / "token").write_text(TOKEN)
    served = serve("-f", "examples/shop", "--token-file", str(tmp_path / "token"), listen=f"{own_address()}:0")
    port = served.listen.rpartition(":")[2]
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {"nodeName": "nowhere", "containers": [{"name": "ui", "image": "fairlead"}]}
    api.create(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ui"}, "spec": spec})
    api.patch(f"{pods}/ui/status", {"status": {"podIP": own_address(), "podIPs": [{"ip": own_address()}]}})
    with kubectl_proxy(kubeconfig) as proxy:
        page = opened(f"{proxy}{pods}/ui:{port}/proxy/")
        page.get_by_label("This server asks for a token").fill(TOKEN)
        page.get_by_role("button", name="Go on").click()
        expect(page.locator(".big", has_text="Waiting")).to_be_visible()
        page.get_by_role("link", name="Tiers").click()
        expect(page.get_by_role("heading", name="Tiers of west")).to_be_visible()
        assert all(f"{pods}/ui:{port}/proxy/" in url for url in watch.requests if url.startswith("http"))


def test_two_contexts_are_one_page(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], serve: Serve, opened: Opened,
    tmp_path: Path,
) -> None:  # fmt: skip
    """Each context is a cluster of its own on the page, by its name."""
    kwok_nodes(2, labels={"pool": namespace})
    config = yaml.safe_load(kubeconfig.read_text())
    first = config["contexts"][0]
    config["contexts"] = [{**first, "name": name} for name in ("east", "west")]
    both = tmp_path / "both.kubeconfig"
    both.write_text(yaml.safe_dump(config))
    served = serve("--cluster", "--kubeconfig", str(both), "--context", "east", "--context", "west")
    page = opened(served.url)
    for name in ("east", "west"):
        expect(page.get_by_role("heading", name=re.compile(name)).first).to_be_visible()


@pytest.fixture
def another_plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A second API server with an etcd of its own, beside that of the run."""
    plane = ControlPlane(Options(controller_manager=False, scheduler=False)).start()
    yield plane
    plane.stop()


def test_two_api_servers_are_one_page(
    control_plane: ControlPlane, another_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]],
    serve: Serve, opened: Opened, tmp_path: Path,
) -> None:  # fmt: skip
    """Both are followed live; one that goes away is named, and the other one goes on."""
    kwok_nodes(1, cpu="2", labels={"pool": namespace})
    another_plane.create_kwok_nodes(2, prefix="other-", cpu="4")
    both = tmp_path / "both.kubeconfig"
    both.write_text(yaml.safe_dump(joined(east=control_plane.kubeconfig, west=another_plane.kubeconfig)))
    served = serve("--cluster", "--kubeconfig", str(both), "--context", "east", "--context", "west")
    page = opened(served.url)
    for name, count in (("east", 1), ("west", 2)):
        card = page.locator("section.card", has=page.get_by_role("heading", name=re.compile(name))).first
        expect(card).to_contain_text(f"{count} node")
    another_plane.create_kwok_nodes(1, prefix="late-", cpu="4")
    west = page.locator("section.card", has=page.get_by_role("heading", name=re.compile("west"))).first
    expect(west).to_contain_text("3 nodes")
    another_plane.stop_apiserver()
    expect(page.locator(".trouble")).to_contain_text("west: ")
    expect(west).to_contain_text("3 nodes")
    kwok_nodes(1, cpu="2", labels={"pool": namespace})
    east = page.locator("section.card", has=page.get_by_role("heading", name=re.compile("east"))).first
    expect(east).to_contain_text("2 nodes")
    another_plane.start_apiserver()
    expect(page.locator(".trouble")).to_have_count(0)


def joined(**kubeconfigs: Path) -> dict[str, Any]:
    """One kubeconfig of several, each a context of the name it is given under."""
    result: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for name, path in kubeconfigs.items():
        config = yaml.safe_load(path.read_text())
        result["clusters"].append({**config["clusters"][0], "name": name})
        result["users"].append({**config["users"][0], "name": name})
        result["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    return result
