"""The queue of those who name none, where other queues are declared."""

import json
from pathlib import Path
from typing import Any

from tests.cli.clusters import Folder, keeper, node

QUEUE: dict[str, Any] = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "gpu"}}


def test_share_has_it_as_plan_does(tmp_path: Path) -> None:
    """Workloads without a queue start beside a queue of others; the two commands say the same."""
    here = Folder(tmp_path, node("n1"), {**QUEUE, "spec": {"weight": 1}}, keeper("Deployment", "web", replicas=3))
    assert here.waits() == 0
    shared = json.loads(here.run("share", "-o", "json").stdout)
    assert (shared["jobs"]["shop/web"]["admitted"], shared["unplaced"]) == (3, 0)
    assert sorted(shared["queues"]) == ["default", "gpu"]


def test_share_keeps_to_the_declared_one(tmp_path: Path) -> None:
    """Its cap holds."""
    capped = {**QUEUE, "metadata": {"name": "default"}, "spec": {"weight": 1, "capability": {"cpu": "2"}}}
    here = Folder(tmp_path, node("n1"), capped, keeper("Deployment", "web", replicas=3))
    assert here.waits() == json.loads(here.run("share", "-o", "json").stdout)["unplaced"] == 1
