"""What a live cluster may have beside the kinds of every cluster: Kueue's queues, autoscalers, jobs of operators."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.kube.client import Client
from fairlead.kube.resources import DEPLOYMENTS, NODES, Resource
from fairlead.kube.transport import Response
from fairlead.kube.wire import http
from tests.cli.clusters import keeper, node
from tests.fake import FakeApi
from tests.fake.faults import FaultRule

KUEUE = "kueue.x-k8s.io"
CLUSTER_QUEUES: Resource[Any] = Resource(KUEUE, "v1beta2", "clusterqueues", "ClusterQueue", dict, namespaced=False)
LOCAL_QUEUES: Resource[Any] = Resource(KUEUE, "v1beta2", "localqueues", "LocalQueue", dict)
AUTOSCALERS: Resource[Any] = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", dict)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """A node of eight cores, and web with two replicas of one core in a queue of three."""
    served = FakeApi()
    web = keeper("Deployment", "web", replicas=2)
    web["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    served.put(NODES, node("n1", "8"))
    served.put(DEPLOYMENTS, web)
    monkeypatch.setattr("fairlead.kube.config.load", lambda kubeconfig_path, context: None)
    monkeypatch.setattr(http, "connect", lambda connection: Client(served))
    return served


def add_queues(api: FakeApi) -> None:
    """Kueue, with a ClusterQueue of three cores and a LocalQueue that leads there."""
    quota = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": 3}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    api.serve(CLUSTER_QUEUES)
    api.serve(LOCAL_QUEUES)
    api.put(CLUSTER_QUEUES, {"metadata": {"name": "research"}, "spec": {"resourceGroups": groups}})
    api.put(LOCAL_QUEUES, {"metadata": {"name": "team", "namespace": "shop"}, "spec": {"clusterQueue": "research"}})


def add_autoscaler(api: FakeApi) -> None:
    """One that takes web to five replicas at most."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5}
    api.serve(AUTOSCALERS)
    api.put(AUTOSCALERS, {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec})


def plan(*options: str) -> Result:
    return CliRunner().invoke(cli, ["plan", "--cluster", "-o", "json", *options], standalone_mode=False)


def test_queues_and_autoscalers_of_a_live_cluster_count(api: FakeApi) -> None:
    """At its highest web has five replicas: three fit its queue, two wait; without Kueue all five run."""
    add_autoscaler(api)
    assert json.loads(plan("--scale-hpa", "max").stdout)["plan"]["unplaced"] == 0
    add_queues(api)
    now = json.loads(plan().stdout)
    assert (now["unplaced"], now["sites"][0]["workloads"][0]["queue"]) == (0, "research")
    assert json.loads(plan("--scale-hpa", "max").stdout)["plan"]["unplaced"] == 2


def test_kinds_that_may_not_be_read_are_told_and_planned_without(api: FakeApi) -> None:
    """Most people may not read everything that somebody installed."""
    add_queues(api)
    api.faults.rules.append(FaultRule(path="/localqueues", times=9, answer=Response(status=403, body=b"no")))
    result = plan()
    assert "localqueues.kueue.x-k8s.io may not be read, and are planned without: 403" in result.stderr
    assert json.loads(result.stdout)["unplaced"] == 0


def test_cluster_without_any_of_them_is_as_before(api: FakeApi) -> None:
    """Not being served is no error."""
    result = plan()
    assert (result.stderr, json.loads(result.stdout)["unplaced"]) == ("", 0)
