"""Poisonous objects on a real API server, one after the other beside ordinary work, with all four components running.

The table is `tests/poison/table.py`. What the API server itself refuses is no poison and does not count.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from fairlead.kube.resources import EVENTS, LONGHORN_NODES, TIER_LEDGERS, Resource
from tests.cluster import karmada, longhorn, volcano
from tests.cluster.fleets import CAPACITY, Fleet, deployment
from tests.cluster.pages import free_port, page
from tests.cluster.test_webhook import serve
from tests.cluster.webhooks import NAMESPACE as SYSTEM
from tests.cluster.webhooks import Setting, Webhooks, webhooks
from tests.live import longhorn_objects
from tests.poison.objects import Made, Object, Told, cluster
from tests.poison.sight import Sight
from tests.poison.table import TABLE

LEAST = 60
"""Poisons that the API server has to take."""
AT_ONCE = 6
"""Poisons between two looks at the ordinary work."""


class Town(Sight):
    """The API server seen by people: objects of one namespace, and those that have none."""

    def __init__(self, api: Api, namespace: str, storage_port: int) -> None:
        self.api = api
        self.namespace = namespace
        self._port = storage_port
        self.made: list[str] = []
        """Paths of objects without a namespace, and of ledgers."""

    def put(self, made: Made) -> None:
        """Create an object, with its status where it has one; a namespace that it names is ours."""
        resource, body = made
        where = self._path(resource)
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        whole["metadata"] = {name: value for name, value in body["metadata"].items() if name != "namespace"}
        self._create(where, whole)
        path = f"{where}/{body['metadata']['name']}"
        if not resource.namespaced or resource is TIER_LEDGERS:
            self.made.append(path)
        if "status" in body:
            self.api.patch(f"{path}/status", {"status": body["status"]})

    def _create(self, where: str, whole: Object) -> None:
        """As the API server takes it; it knows a PriorityClass some moments after it was created."""

        def created() -> bool:
            try:
                self.api.create(where, whole)
            except ApiError as error:
                if error.status == 403 and "no PriorityClass" in str(error):
                    return False
                raise
            return True

        self.api.wait(f"{whole['metadata']['name']} is taken", created, seconds=30)

    def find(self, resource: Resource[Any], name: str) -> Object:
        """The object, empty where there is none."""
        try:
            found: Object = self.api.get(f"{self._path(resource)}/{name}")
        except ApiError as error:
            if error.status != 404:
                raise
            return {}
        return found

    def events(self) -> list[Object]:
        """All events."""
        return self.api.items(f"{EVENTS.root}/{EVENTS.plural}")

    def report(self) -> bytes:
        """The report of the storage component."""
        return (page(self._port, "/report") or "{}").encode()

    def clear(self) -> None:
        """Remove what a namespace does not take with it."""
        for path in self.made:
            with suppress(ApiError):
                self.api.delete(path)

    def _path(self, resource: Resource[Any]) -> str:
        if not resource.namespaced:
            return f"{resource.root}/{resource.plural}"
        home = SYSTEM if resource is TIER_LEDGERS else self.namespace
        return f"{resource.root}/namespaces/{home}/{resource.plural}"


@contextmanager
def process(folder: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A component as a process that acts without a lease, stopped with SIGTERM; its words go to a file."""
    with (folder / f"{words[0]}.log").open("wb") as log:
        command = [sys.executable, "-m", "fairlead", *words, "--no-leader-election"]
        running = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield running
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(60)


@pytest.fixture
def deeply() -> Iterator[None]:
    """What is nested deeply can be written and read by the test itself."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture
def kinds(api: Api) -> None:
    """The kinds of others that the components read."""
    volcano.install(api)
    karmada.define(api, "karmada.yaml")
    longhorn.install(api)


@pytest.fixture
def served(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Webhooks]:
    """One webhook; pods of the namespace are not created without it."""
    with webhooks(control_plane, tmp_path, Setting("webhook", count=1)) as these:
        yield these


@pytest.mark.timeout(1800)
def test_poison_ends_with_itself_beside_ordinary_work(
    api: Api,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    kinds: None,
    deeply: None,
    served: Webhooks,
    tmp_path: Path,
) -> None:
    """All four processes stay up, ordinary work of every kind goes on, and each poison is named to people."""
    kwok_nodes(4, cpu="64", pods=500, labels=lambda n: {"pool": "ordinary", CAPACITY: ("on-demand", "spot")[n % 2]})
    serve(api, namespace)
    config, port = tmp_path / "config.json", free_port()
    sections = {"queue": {"statusSeconds": 0.5}}
    config.write_text(json.dumps({"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration", **sections}))
    town = Town(api, namespace, port)
    access = ("--kubeconfig", str(kubeconfig))
    with ExitStack() as stack:
        stack.callback(town.clear)
        for name in ("m1", "m2"):
            town.put(cluster(name))
        town.put((LONGHORN_NODES, longhorn_objects.node("disks", d=1000)))
        listen = ("--listen", "127.0.0.1:0")
        running = [
            stack.enter_context(process(tmp_path, "scheduler", *access, *listen, "--config", str(config))),
            stack.enter_context(process(tmp_path, "fleet", *access, "--health", "127.0.0.1:0")),
            stack.enter_context(
                process(
                    tmp_path,
                    "storage",
                    *access,
                    *("--longhorn-namespace", namespace, "--health", "127.0.0.1:0", "--act"),
                    *("--pages", f"127.0.0.1:{port}"),
                )
            ),
        ]
        # 1. poison by poison, ordinary work beside it
        taken = _poisoned(town, running, served)
        assert len(taken) >= LEAST
        # 2. each is named
        wanted = [told for label in taken for told in TABLE[label].told]
        _wait(town, running, wanted, seconds=300)
        # 3. the webhook counts as before
        deployments = Fleet(api, namespace)
        body = deployment("web", 6, "2")
        # Poisonous nodes have room and no kubelet: pods would never run there.
        body["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "ordinary"}
        deployments.create(body)
        deployments.settled()
        deployments.check()
        assert [each.process.poll() for each in served.replicas] == [None]
        assert [each.poll() for each in running] == [None] * 3


def _poisoned(town: Town, running: list["subprocess.Popen[bytes]"], served: Webhooks) -> list[str]:
    """Create the poisons; the labels of those that the API server takes."""
    taken, ordinary = [], []
    for number, (label, poison) in enumerate(TABLE.items(), 1):
        try:
            for made in poison.objects:
                town.put(made)
            taken.append(label)
        except ApiError as error:
            if error.status not in (400, 422):
                raise
            print(f"refused by the API server: {label}: {str(error)[:300]}")
        ordinary += town.ordinary(number)
        if number % AT_ONCE == 0:
            _wait(town, running, ordinary)
            ordinary = []
            assert [each.process.poll() for each in served.replicas] == [None]
    _wait(town, running, ordinary)
    return taken


def _wait(town: Town, running: list["subprocess.Popen[bytes]"], wanted: list[Told], *, seconds: float = 180) -> None:
    """Until all of this holds; a process that ends meanwhile is the failure."""

    missing = wanted

    def done() -> bool:
        nonlocal missing
        assert [each.poll() for each in running] == [None] * len(running), "a component ended"
        missing = [each for each in missing if not town.holds(each)]
        return not missing

    try:
        town.api.wait("everything is told and done", done, seconds=seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}: {missing}") from error
