"""Nodes that take nothing new, and what runs on them."""

from pathlib import Path

import pytest

from tests.cli.clusters import Folder, keeper, node, pod

READY = {"type": "Ready", "status": "Unknown"}


@pytest.mark.parametrize("why", ["cordoned", "not ready"])
def test_replicas_on_closed_nodes_take_nothing_of_the_open_ones(tmp_path: Path, why: str) -> None:
    """Three of seven run on a closed node; the open one has room for the other four, and nobody else asks for it."""
    closed = node("n1", **({"unschedulable": True} if why == "cordoned" else {}))
    closed["status"] |= {"conditions": [READY]} if why == "not ready" else {}
    running = [pod(f"web-{number}", "n1", "Deployment/web") for number in range(3)]
    here = Folder(tmp_path, closed, node("n2"), keeper("Deployment", "web", replicas=7), *running)
    assert here.placed() == {"shop/web": {"n2": 4}}
    assert here.waits() == 0


def test_a_closed_node_offers_nothing_but_what_runs_there(tmp_path: Path) -> None:
    """One of 4 cpu on it is held; one more replica than the open node takes waits."""
    running = pod("web-0", "n1", "Deployment/web")
    here = Folder(
        tmp_path, node("n1", unschedulable=True), node("n2"), keeper("Deployment", "web", replicas=6), running
    )
    assert here.placed() == {"shop/web": {"n2": 4}}
    assert here.waits() == 1
