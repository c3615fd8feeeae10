"""The control plane itself: nodes, pods, rights, restarts, and that nothing of it stays."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.controlplane.api import Api, ApiError, Object
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane
from tools.controlplane.processes import wait_until

from .conftest import NodeMaker
from .versions import VERSION, native_gangs

ROOT = Path(__file__).resolve().parents[2]
BARE = Options(controller_manager=False, scheduler=False, kwok=False)


def deployment(name: str, replicas: int, cpu: str = "100m") -> Object:
    """A Deployment whose pods ask for a little cpu."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def running(api: Api, namespace: str) -> list[Object]:
    """The pods of a namespace that run."""
    pods = api.items(f"/api/v1/namespaces/{namespace}/pods")
    return [pod for pod in pods if pod["status"].get("phase") == "Running"]


def is_alive(pid: int) -> bool:
    """Whether the process exists and is more than an entry that its parent has not collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_apiserver_reports_its_version(control_plane: ControlPlane) -> None:
    """The server says that it is the release that go.mod pins, or the one that was asked for."""
    assert control_plane.api.get("/version")["gitVersion"] == VERSION


def test_deployment_on_hundred_nodes_runs(api: Api, namespace: str, kwok_nodes: NodeMaker) -> None:
    """The stock kube-scheduler spreads a Deployment over KWOK nodes and its pods become Running and Ready."""
    names = kwok_nodes(100, cpu="4", memory="8Gi")
    api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("web", 200))
    api.wait("200 pods run", lambda: len(running(api, namespace)) == 200, seconds=180)
    used = {pod["spec"]["nodeName"] for pod in running(api, namespace)}
    assert used <= set(names)
    assert len(used) > 50
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    api.wait("the Deployment counts them", lambda: api.get(path)["status"].get("readyReplicas") == 200, seconds=60)


def test_pod_that_does_not_fit_stays_pending_until_there_is_room(
    api: Api, namespace: str, kwok_nodes: NodeMaker
) -> None:
    """Requests are counted: what no node can take is unschedulable, and runs once a node can."""
    kwok_nodes(1, cpu="1")
    api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("big", 1, cpu="2"))
    pods = f"/api/v1/namespaces/{namespace}/pods"

    def reasons() -> list[str]:
        conditions = [c for pod in api.items(pods) for c in pod["status"].get("conditions", [])]
        return [c["reason"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]

    api.wait("one pod is unschedulable", lambda: reasons() == ["Unschedulable"])
    (large,) = kwok_nodes(1, cpu="2", prefix=f"large-{os.getpid()}-")
    api.wait("it runs on the larger node", lambda: [p["spec"]["nodeName"] for p in running(api, namespace)] == [large])


def test_pod_that_says_how_long_it_runs_succeeds(api: Api, namespace: str, kwok_nodes: NodeMaker) -> None:
    """The annotation that ends a pod works; without it pods run on."""
    kwok_nodes(1)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {"containers": [{"name": "main", "image": "none"}]}
    api.create(pods, {"metadata": {"name": "endless"}, "spec": spec})
    short = {"name": "short", "annotations": {"fairlead.test/runs-for": "100ms"}}
    api.create(pods, {"metadata": short, "spec": spec})
    api.wait("short has succeeded", lambda: api.get(f"{pods}/short")["status"]["phase"] == "Succeeded")
    api.wait("endless runs", lambda: api.get(f"{pods}/endless")["status"]["phase"] == "Running")


class Mirror:
    """The names in a collection, kept by list and watch in a thread: the least that survives a restart."""

    def __init__(self, api: Api, path: str) -> None:
        self._api, self._path = api, path
        self.names: set[str] = set()
        self.streams = 0
        self._ended = False
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Mirror:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()

    def _follow(self) -> None:
        version = ""
        while not self._ended:
            try:
                version = self._watch(version or self._list())
            except (OSError, http.client.HTTPException, ApiError):
                time.sleep(0.1)

    def _list(self) -> str:
        listed = self._api.get(self._path)
        self.names = {item["metadata"]["name"] for item in listed["items"]}
        return str(listed["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> str:
        """Follow until the stream ends; the version to go on from, empty when it is too old and a list is due."""
        self.streams += 1
        for event in self._api.watch(self._path, resourceVersion=version, timeoutSeconds=2):
            if event["type"] == "ERROR":
                assert event["object"]["code"] == 410
                return ""
            meta = event["object"]["metadata"]
            version = meta["resourceVersion"]
            (self.names.discard if event["type"] == "DELETED" else self.names.add)(meta["name"])
            if self._ended:
                break
        return version


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_watch_survives_apiserver_restart(control_plane: ControlPlane, namespace: str, kill: bool) -> None:
    """A watcher that reconnects, and lists again when its version is too old, misses nothing around a restart."""
    api = control_plane.api
    path = f"/api/v1/namespaces/{namespace}/secrets"

    def create(name: str) -> None:
        api.create(path, {"metadata": {"name": name}})

    create("first")
    with Mirror(api, path) as mirror:
        api.wait("the first is seen", lambda: mirror.names == {"first"})
        create("second")
        api.wait("the second is seen", lambda: mirror.names == {"first", "second"})
        streams = mirror.streams
        control_plane.restart_apiserver(kill=kill)
        create("third")
        api.delete(f"{path}/first")
        api.wait("both changes are seen", lambda: mirror.names == {"second", "third"})
        assert mirror.streams > streams


def test_history_from_before_is_gone(control_plane: ControlPlane, namespace: str) -> None:
    """A paged list and a watch cannot go on from forgotten history: 410, as in a cluster that has run for long."""
    api = control_plane.api
    path = f"/api/v1/namespaces/{namespace}/secrets"
    for number in range(3):
        api.create(path, {"metadata": {"name": f"page-{number}"}})
    page = api.get(path, limit=1)["metadata"]
    api.create(path, {"metadata": {"name": "later"}})
    control_plane.forget_history()
    with pytest.raises(ApiError) as caught:
        api.get(path, limit=1, **{"continue": page["continue"]})
    assert (caught.value.status, caught.value.reason) == (410, "Expired")
    event = next(api.watch(path, resourceVersion=page["resourceVersion"]))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_service_account_has_only_its_rights(control_plane: ControlPlane, namespace: str) -> None:
    """RBAC decides: no rights, no access; a role gives exactly what it says, in its namespace only."""
    admin = control_plane.api
    reader = Api.from_kubeconfig(control_plane.kubeconfig_for_service_account(namespace, "reader"))
    pods = f"/api/v1/namespaces/{namespace}/pods"
    assert status_of(lambda: reader.get(pods)) == 403
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    admin.create(f"{rbac}/roles", {"metadata": {"name": "read"}, "rules": [rule]})
    admin.create(
        f"{rbac}/rolebindings",
        {
            "metadata": {"name": "read"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read"},
            "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": "reader"}],
        },
    )
    admin.wait("the role is in force", lambda: status_of(lambda: reader.get(pods)) == 200)
    assert status_of(lambda: reader.get("/api/v1/namespaces/default/pods")) == 403
    assert status_of(lambda: reader.delete(pods)) == 403


def test_user_by_certificate_is_who_it_says(control_plane: ControlPlane) -> None:
    """A client certificate carries the user and the groups."""
    jane = Api.from_kubeconfig(control_plane.kubeconfig_for_user("jane", ["planners"]))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    who = jane.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)["status"]["userInfo"]
    assert who["username"] == "jane"
    assert {"planners", "system:authenticated"} == set(who["groups"])


@native_gangs
def test_feature_gates_and_api_versions_reach_the_servers(control_plane: ControlPlane) -> None:
    """With its gates on and its API served, a gang as Kubernetes itself has it waits for its last member."""
    gangs = Options(
        controller_manager=False,
        feature_gates={"GenericWorkload": True, "GangScheduling": True},
        runtime_config={"scheduling.k8s.io/v1alpha2": True},
    )
    pods = "/api/v1/namespaces/default/pods"
    spec = {"schedulingGroup": {"podGroupName": "pair"}, "containers": [{"name": "main", "image": "none"}]}
    with ControlPlane(gangs) as plane:
        api = plane.api
        plane.create_kwok_nodes(1)
        group = {"metadata": {"name": "pair"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
        api.create("/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups", group)
        api.create(pods, {"metadata": {"name": "one"}, "spec": spec})
        # A pod outside the gang, created later: when it runs, the scheduler has seen the first one too.
        api.create(pods, {"metadata": {"name": "alone"}, "spec": {"containers": spec["containers"]}})
        api.wait("the pod outside runs", lambda: api.get(f"{pods}/alone")["status"]["phase"] == "Running")
        assert "nodeName" not in api.get(f"{pods}/one")["spec"]
        api.create(pods, {"metadata": {"name": "two"}, "spec": spec})
        api.wait("the gang runs", lambda: len(running(api, "default")) == 3)
    assert not control_plane.api.get("/apis/scheduling.k8s.io")["versions"][1:]


def test_stop_leaves_no_process_and_no_folder(control_plane: ControlPlane) -> None:
    """A second control plane runs beside the first and leaves nothing when it stops."""
    with ControlPlane(BARE) as plane:
        pids = plane.pids()
        assert {"etcd", "kube-apiserver"} == set(pids)
        assert plane.server != control_plane.server
    assert [name for name, pid in pids.items() if is_alive(pid)] == []
    assert not plane.folder.exists()
    control_plane.wait_ready()


def test_killed_parent_takes_its_processes_along(control_plane: ControlPlane, tmp_path: Path) -> None:
    """When the program that started a control plane is killed outright, its processes end all the same."""
    program = (
        "from tools.controlplane.plane import ControlPlane; from tests.cluster.test_control_plane import BARE;"
        "plane = ControlPlane(BARE).start(); print(*plane.pids().values(), plane.folder, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        *numbers, folder = parent.stdout.readline().split()
        pids = [int(number) for number in numbers]
        assert [is_alive(pid) for pid in pids] == [True, True]
        parent.send_signal(signal.SIGKILL)
    wait_until("orphans end", lambda: not any(is_alive(pid) for pid in pids), seconds=30)
    wait_until("their data goes", lambda: not (Path(folder) / "data").exists(), seconds=30)


def status_of(call: Callable[[], object]) -> int:
    """The HTTP status of a call."""
    try:
        call()
    except ApiError as error:
        return error.status
    return 200
