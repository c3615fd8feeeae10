"""An upgrade and a way back, with processes of 0.1.0 from the sources of its last commit: nothing that runs is lost."""

import io
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

from tests.cluster import volcano
from tests.cluster.conftest import NodeMaker
from tests.cluster.fleets import CAPACITY, Fleet, deployment
from tests.cluster.test_webhook import serve
from tests.cluster.webhooks import CONFIGURATIONS, Setting, Webhooks, manifests, webhooks
from tests.deploys import apply, deployed

ROOT = Path(__file__).parents[2]
LAST_OF_0_1 = "0ffb09b302435a847003600e5587ad701dbe8844"
GANGS, MEMBERS = 6, 10


@dataclass(frozen=True)
class SettingOf01(Setting):
    """A configuration that 0.1.0 reads: there were no presets of tiers."""

    @property
    def sections(self) -> dict[str, Any]:
        return {name: each for name, each in super().sections.items() if name != "tier"}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of 0.1.0."""
    done = subprocess.run(["git", "archive", LAST_OF_0_1, "src"], capture_output=True, cwd=ROOT, check=False)
    if done.returncode:
        pytest.skip(f"NOT TESTED: the upgrade from 0.1.0: {LAST_OF_0_1[:7]} is not in the history of this checkout")
    folder = tmp_path_factory.mktemp("version-0.1.0")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def objects_of_0_1() -> list[dict[str, Any]]:
    """What 0.1.0 was installed by, without what would run or be called."""
    return _objects(yaml.safe_load_all((ROOT / "tests/install/recorded/manifests-0.1.0.yaml").read_text()))


def _objects(given: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in given if each["kind"] not in ("Deployment", *CONFIGURATIONS)]


def uids(api: Api, namespace: str) -> dict[str, str]:
    """The pods of a namespace and their identities."""
    found = api.items(f"/api/v1/namespaces/{namespace}/pods")
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}


def scaled(fleet: Fleet, sizes: Mapping[str, int]) -> None:
    """Every Deployment has its size, and exactly its minimum on demand."""
    for name, replicas in sizes.items():
        fleet.patch(name, {"spec": {"replicas": replicas}})
    fleet.quiet(mended=False)


def test_slots_are_counted_across_an_upgrade_and_back(
    api: Api, control_plane: ControlPlane, namespace: str, kwok_nodes: NodeMaker, tmp_path: Path, old: Path
) -> None:
    """0.1.0, both versions at once, this one, and 0.1.0 again: exactly M on demand each time, and no pod replaced."""
    kwok_nodes(4, cpu="64", pods=500, labels=lambda number: {CAPACITY: ("on-demand", "spot")[number % 2]})
    fleet = Fleet(api, namespace)
    with webhooks(control_plane, tmp_path, Setting("webhook"), count=0, objects=objects_of_0_1()) as served:
        run(served, old)
        serve(api, namespace)
        fleet.create(*(deployment(f"web-{row}", 4, str(2 * row)) for row in range(1, 4)))
        fleet.quiet(mended=False)
        before = uids(api, namespace)

        for each in _objects(manifests()):
            apply(api, each)
        first = served.replicas[:]
        run(served, None)
        scaled(fleet, {f"web-{row}": 8 for row in range(1, 4)})
        served.kill(*first, number=signal.SIGTERM)
        scaled(fleet, {f"web-{row}": 12 for row in range(1, 4)})

        second = served.replicas[:]
        run(served, old)
        served.kill(*second, number=signal.SIGTERM)
        scaled(fleet, {f"web-{row}": 16 for row in range(1, 4)})
        assert before.items() <= uids(api, namespace).items()
        assert "Traceback" not in served.words


def run(served: Webhooks, sources: Path | None) -> None:
    """Start two more processes, of the version at `sources` or of this one."""
    served.sources = sources
    served.setting = SettingOf01("webhook") if sources else Setting("webhook")
    served.start(2)


@contextmanager
def scheduler(plane: ControlPlane, log: Path, sources: Path | None) -> Iterator[subprocess.Popen[bytes]]:
    """The scheduler of the version at `sources`, or of this one, under its ServiceAccount; it is killed at the end."""
    kubeconfig = plane.kubeconfig_for_service_account("fairlead-system", "fairlead-scheduler")
    words = ["scheduler", "--kubeconfig", str(kubeconfig), "--listen", "127.0.0.1:0", "--pages", "127.0.0.1:0"]
    words += ["--no-leader-election"]
    environment = os.environ | ({"PYTHONPATH": str(sources)} if sources else {})
    with log.open("ab") as out:
        process = subprocess.Popen([sys.executable, "-m", "fairlead", *words], stderr=out, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.parametrize("back", [False, True], ids=["upgrade", "rollback"])
def test_gangs_that_one_version_began_are_finished_by_the_other(
    api: Api, control_plane: ControlPlane, namespace: str, kwok_nodes: NodeMaker, tmp_path: Path, old: Path, back: bool
) -> None:
    """Killed while it binds, it leaves gangs begun: the other version completes them, and nothing is evicted."""
    for each in objects_of_0_1() if not back else _objects(deployed("common", "scheduler")):
        apply(api, each)
    volcano.install(api)
    kwok_nodes(GANGS, cpu=str(MEMBERS), labels={"pool": namespace})
    begins, ends = (None, old) if back else (old, None)
    log = tmp_path / "scheduler.log"
    for number in range(GANGS):
        volcano.make_gang(api, namespace, f"g{number}", MEMBERS)
    before = uids(api, namespace)
    with scheduler(control_plane, log, begins):
        api.wait("a pod is bound", lambda: volcano.bound(api, namespace).total(), seconds=60)
    with scheduler(control_plane, log, ends):
        whole = {f"g{number}": MEMBERS for number in range(GANGS)}
        api.wait("all gangs are whole", lambda: volcano.bound(api, namespace) == whole, seconds=90)
    assert uids(api, namespace) == before
    assert "Traceback" not in log.read_text()
