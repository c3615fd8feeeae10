"""`fairlead queue`: what is used now, who waits and why, with and without queues."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli import queue
from fairlead.cli.main import cli
from fairlead.kube.client import Client
from fairlead.kube.manifests.catalogue import Catalogue, catalogue
from fairlead.kube.manifests.collect import collect
from fairlead.kube.resources import NODES, POD_GROUPS, PODS, QUEUES, RESOURCE_QUOTAS
from fairlead.model.errors import InputError
from tests.fake import FakeApi
from tests.kube.virtual import run


def _pod(name: str, *, cpu: str = "1", node: str = "", group: str = "", namespace: str = "ml") -> dict[str, Any]:
    marks = {"scheduling.k8s.io/group-name": group} if group else {}
    return {
        "metadata": {"name": name, "namespace": namespace, "annotations": marks},
        "spec": {
            "schedulerName": "fairlead",
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        },
    }


def _town(*, queues: bool = True) -> FakeApi:
    """Eight cores. Queue a: four pods of ml run. Queue b: a gang of six has nowhere to go."""
    api = FakeApi()
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    for name in ("n1", "n2"):
        api.put(NODES, {"metadata": {"name": name}, "status": {"allocatable": allocatable}})
    api.put(RESOURCE_QUOTAS, {"metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": {}}})
    if queues:
        api.put(QUEUES, {"metadata": {"name": "a"}, "spec": {"weight": 3}})
        api.put(QUEUES, {"metadata": {"name": "b"}, "spec": {"weight": 1}})
        for name, where, least in (("train", "a", 1), ("big", "b", 6)):
            body = {"metadata": {"name": name, "namespace": "ml"}, "spec": {"queue": where, "minMember": least}}
            api.put(POD_GROUPS, body)
    else:
        api.stop_serving(QUEUES)
        api.stop_serving(POD_GROUPS)
    for number in range(4):
        api.put(PODS, _pod(f"t{number}", node="n1", group="train" if queues else ""))
    for number in range(6):
        api.put(PODS, _pod(f"b{number}", group="big" if queues else ""))
    return api


def _shown(monkeypatch: pytest.MonkeyPatch, api: FakeApi, *words: str) -> Any:
    async def read(kubeconfig: str, context: str) -> tuple[Catalogue, bool]:
        client = Client(api)
        read = (NODES, PODS, RESOURCE_QUOTAS, QUEUES, POD_GROUPS)
        return catalogue(await collect(client, resources=read)), await client.served(QUEUES)

    # The command has a loop of its own; what it reads comes from one on a virtual clock.
    found = run(read("", ""))

    async def known(kubeconfig: str, context: str) -> tuple[Catalogue, bool]:
        return found

    monkeypatch.setattr(queue, "_read", known)
    return CliRunner().invoke(cli, ["queue", *words], standalone_mode=False)


def test_queue_command_tells_what_is_used_and_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Used is what runs, not what would; the gang that waits says why; default is there without anybody's doing."""
    result = _shown(monkeypatch, _town(), "-o", "json")
    record = json.loads(result.stdout)
    queues = {row["name"]: row for row in record["queues"]}
    assert list(queues) == ["a", "b", "default"]
    assert queues["a"]["weight"] == 3
    assert queues["a"]["used"]["cpu"] == "4"
    assert queues["b"]["used"]["cpu"] == "0"
    assert queues["b"]["asked"]["cpu"] == "6"
    assert queues["a"]["namespaces"][0]["used"]["cpu"] == "4"
    (job,) = record["waiting"]
    assert (job["job"], job["waiting"], job["starts"], job["reason"]) == ("ml/big", 6, 0, "GangShortfall")
    assert record["pending"] == 6
    assert result.return_value == 1


def test_queue_command_shows_one_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name narrows it down; nobody waits in that queue, so the exit code is 0."""
    result = _shown(monkeypatch, _town(), "a", "-o", "table")
    assert "4 cpu" in result.stdout
    assert "big" not in result.stdout
    assert result.return_value == 0
    table = _shown(monkeypatch, _town(), "-o", "table").stdout
    assert "ml/big: 0 admitted, 6 wait" in table


def test_queue_command_refuses_a_queue_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which ones there are."""
    result = _shown(monkeypatch, _town(), "c", "-o", "json")
    assert isinstance(result.exception, InputError)
    assert "there are a, b, default" in str(result.exception)


def test_queue_command_without_queues_shows_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster without the definitions: one queue, a kind word on standard error, jobs that start now."""
    result = _shown(monkeypatch, _town(queues=False), "-o", "json")
    record = json.loads(result.stdout)
    assert [row["name"] for row in record["queues"]] == ["default"]
    assert record["queues"][0]["used"]["cpu"] == "4"
    assert sum(job["starts"] for job in record["waiting"]) == 4
    assert "no Queues" in result.stderr


def test_queue_command_watches_until_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two looks, one record a line, and an end without a complaint."""
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("fairlead.cli.watching.time.sleep", sleep)
    result = _shown(monkeypatch, _town(), "--watch", "-o", "json")
    assert len(result.stdout.splitlines()) == 2
    assert result.return_value == 0


def test_queue_command_selects_jobs_and_prints_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-l` by the labels of pods or of their group: queues are shown whole; `-o name` and jsonpath as kubectl's."""
    assert _shown(monkeypatch, _town(), "-o", "name").stdout.split() == ["queue/a", "queue/b", "queue/default"]
    assert _shown(monkeypatch, _town(), "-o", "jsonpath={.waiting[*].job}").stdout == "ml/big"
    none = json.loads(_shown(monkeypatch, _town(), "-l", "app=web", "-o", "json").stdout)
    assert (none["waiting"], len(none["queues"])) == ([], 3)
    assert "ml/big" in _shown(monkeypatch, _town(), "-l", "!app", "-o", "wide").stdout
