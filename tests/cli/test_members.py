"""Member clusters beside a Karmada host: what `--member` takes, and what is read of each."""

from typing import Any

import click
import pytest

from fairlead.cli import live
from fairlead.cli.live import collected
from fairlead.kube.client import Client
from fairlead.kube.manifests.catalogue import CLUSTER
from fairlead.kube.resources import NODES
from fairlead.kube.wire import http
from tests.fake import FakeApi


def server(node: str) -> FakeApi:
    """A server with one node."""
    api = FakeApi()
    api.put(NODES, {"metadata": {"name": node, "annotations": {"own": "x"}}})
    return api


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], FakeApi]:
    """Servers by kubeconfig and context, in the place of real connections."""
    known = {("host", "karmada"): server("h"), ("north.config", ""): server("n"), ("host", "south"): server("s")}
    monkeypatch.setattr("fairlead.kube.config.load", lambda kubeconfig_path, context: (kubeconfig_path, context))
    monkeypatch.setattr(http, "connect", lambda connection: Client(known[connection]))
    return known


def test_objects_of_members_carry_their_name(servers: dict[tuple[str, str], FakeApi]) -> None:
    """The host's do not; a member by a file of its own, another by a context of the host's file."""
    found = collected("host", "karmada", members=("north=north.config", "south=@south"))
    meta: list[dict[str, Any]] = [each.value["metadata"] for each in found]
    assert [(each["name"], each["annotations"].get(CLUSTER, "")) for each in meta] == [
        ("h", ""), ("n", "north"), ("s", "south"),
    ]  # fmt: skip
    assert all(each["annotations"]["own"] == "x" for each in meta)
    alone = collected("host", "karmada", host=False, members=("north=north.config",))
    assert [each.value["metadata"]["name"] for each in alone] == ["n"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("north",), "expected NAME=FILE, NAME=FILE@CONTEXT or NAME=@CONTEXT"),
        (("north=",), "expected NAME=FILE"),
        (("=file",), "expected NAME=FILE"),
        (("north=a", "north=b"), "given twice"),
    ],
)
def test_member_that_cannot_be_understood_is_bad_input(given: tuple[str, ...], told: str) -> None:
    """Before anything is read."""
    with pytest.raises(click.UsageError, match=told):
        live._members(given, "host")
