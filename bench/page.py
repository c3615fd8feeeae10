"""The page on 5,000 nodes and 100,000 pods: time to the first picture and to the plan, bytes, frames a second."""

import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import msgspec

from bench.measure import Report
from fairlead.engine.plan import plan
from fairlead.kube.manifests.view import viewed
from fairlead.web.patch import difference
from fairlead.web.views import VIEWS, Look

NODES, PODS, EACH = 5_000, 100_000, 100
HOVER = """async () => {
  const tiles = document.querySelector('.tiles'), frame = tiles.getBoundingClientRect(), start = performance.now();
  let count = 0, worst = 0, last = start;
  while (last - start < 3000) {
    const [x, y] = [frame.left + (count * 7) % frame.width, frame.top + 40 + (count * 3) % (frame.height - 80)];
    tiles.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y, bubbles: true }));
    await new Promise(requestAnimationFrame);
    worst = Math.max(worst, performance.now() - last);
    last = performance.now();
    count++;
  }
  return [count / (last - start) * 1000, worst];
}"""


def run(report: Report) -> None:
    """What the server does in this process, then what a browser sees, where there is one."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.json"
        file.write_text(json.dumps(cluster()))
        first = Path(folder) / "nodes.json"
        first.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [_node(n) for n in range(NODES)]}))
        _server(report, str(file), str(first))
        browser = os.environ.get("FAIRLEAD_BROWSER") or shutil.which("chromium")
        if browser and find_spec("playwright"):
            _browser(report, str(file), browser)
        else:
            report.line("frames a second: not measured, there is no Chromium or no Playwright (make test-install)")


def cluster() -> dict[str, Any]:
    """Nodes in three zones, and ReplicaSets of a hundred pods with ten more asked for."""
    draw = random.Random(1)
    items = [_node(number) for number in range(NODES)]
    for number in range(PODS // EACH):
        items.append(_owner(number))
        items += [_pod(number, place, f"node-{draw.randrange(NODES)}") for place in range(EACH)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _node(number: int) -> dict[str, Any]:
    tier = "on-demand" if number % 4 == 0 else "spot"
    labels = {"topology.kubernetes.io/zone": f"zone-{number % 3}", "node.kubernetes.io/capacity": tier}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}", "labels": labels},
        "status": {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _spec() -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}}}]}


def _owner(number: int) -> dict[str, Any]:
    labels = {"app": f"web-{number}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"web-{number}", "namespace": f"ns-{number % 50}", "uid": f"u{number}"},
        "spec": {
            "replicas": EACH + EACH // 10,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _spec()},
        },
    }


def _pod(number: int, place: int, node: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{number}", "uid": f"u{number}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-{number}-{place}",
            "namespace": f"ns-{number % 50}",
            "labels": {"app": f"web-{number}"},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"nodeName": node, **_spec()},
        "status": {"phase": "Running"},
    }


def _server(report: Report, file: str, first: str) -> None:
    """A live source lists the nodes first, so the first picture does not wait for the pods."""
    rows = []
    start = process_time()
    msgspec.json.encode(VIEWS["map"](Look(title="", view=viewed([first])[1])))
    rows.append(["first picture: nodes alone, from JSON to the encoded map", f"{process_time() - start:.2f} s"])
    start = process_time()
    found, view = viewed([file])
    rows.append(["everything read and decoded", f"{process_time() - start:.2f} s"])
    start = process_time()
    early = msgspec.json.encode(VIEWS["map"](Look(title="", view=view)))
    rows.append(["map before the plan, made and encoded", f"{process_time() - start:.2f} s"])
    start = process_time()
    look = Look(title="", found=found, view=view, decided=plan(view))
    rows.append(["plan", f"{process_time() - start:.2f} s"])
    rows.append(["map, bytes", f"{len(early):,}, compressed {len(gzip.compress(early, 3)):,}"])
    old = VIEWS["map"](look)
    new = json.loads(json.dumps(old))
    new["sites"][0]["used"][0][7] += 500
    start = process_time()
    patch = msgspec.json.encode(difference(old, new))
    rows.append(["patch after one pod, made", f"{(process_time() - start) * 1000:.0f} ms"])
    rows.append(["patch after one pod, bytes", f"{len(patch)}"])
    report.table(f"{NODES:,} nodes, {PODS:,} pods (processor time of one core)", ["", ""], rows)


def _browser(report: Report, file: str, browser: str) -> None:
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "fairlead", "ui", "-f", file, "--no-open", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = next(found[1] for line in server.stderr if (found := re.search(r"page is at (\S+)", line)))
        with sync_playwright() as driver:
            opened = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
            page = opened.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{url}#/map")
            page.get_by_text("rings are those").wait_for(timeout=300_000)
            frames, worst = page.evaluate(HOVER)
            opened.close()
        status = Path(f"/proc/{server.pid}/status").read_text()
        most = re.search(r"VmHWM:\s+(\d+)", status)
        server.terminate()
    rows = [
        ["frames a second while the pointer moves over the map", f"{frames:.0f}"],
        ["longest frame", f"{worst:.0f} ms"],
        ["most memory of the server", f"{int(most[1]) // 1024 if most else 0} MiB"],
    ]
    report.table("In Chromium without a GPU", ["", ""], rows)
