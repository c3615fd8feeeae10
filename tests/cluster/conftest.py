"""The real control plane as fixtures: one for the whole run, a namespace and nodes of its own for each test.

Every test in this folder is marked `cluster`. They run where Go or built binaries are present, or against the
cluster that `FAIRLEAD_TEST_KUBECONFIG` names; elsewhere they are skipped, loudly.
"""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, Unpack

import pytest
from tools.controlplane import another, build
from tools.controlplane.api import Api, ApiError
from tools.controlplane.nodes import NodeShape, create_kwok_nodes
from tools.controlplane.plane import ControlPlane
from tools.oracle import build as oracle_build
from tools.oracle.process import Oracle

HERE = Path(__file__).parent
EXTERNAL = "FAIRLEAD_TEST_KUBECONFIG"

_numbers = itertools.count(1)
_last_words = pytest.StashKey[str]()


class NodeMaker(Protocol):
    """Creates nodes for one test; their names begin with the test's own prefix."""

    def __call__(self, count: int, **shape: Unpack[NodeShape]) -> list[str]: ...


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here, before anybody selects by mark."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            # A peer that dies between connect and handshake makes ssl.SSLSocket._create raise without closing its
            # socket; servers are killed on purpose here.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test: a build must not count against a test's time limit, and shows its progress."""
    chosen = any(HERE in item.path.parents for item in session.items)
    if not chosen or session.config.option.collectonly or os.environ.get(EXTERNAL):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        try:
            for kit in (another.chosen(print), oracle_build.KIT):
                if not build.obstacle(kit):
                    build.ensure(lambda line: print(line, flush=True), kit)
        except build.BuildError as error:
            raise pytest.UsageError(f"control plane: {error}") from error


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say once, in the open, what was skipped and why, or where the logs of a failed run are."""
    words = config.stash.get(_last_words, "")
    if words:
        terminalreporter.write_line(words, red=True, bold=True)


@pytest.fixture(scope="session")
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """kube-scheduler's own filters, as a child process."""
    reason = oracle_build.obstacle()
    if reason:
        request.config.stash[_last_words] = f"ORACLE TESTS SKIPPED: {reason}"
        pytest.skip("no oracle here; the line ORACLE TESTS SKIPPED says why")
    with Oracle(oracle_build.program()) as started:
        yield started


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """The run's own control plane, started when the first test asks for it; its logs stay after a failure."""
    if os.environ.get(EXTERNAL):
        pytest.skip(f"needs a control plane of its own; {EXTERNAL} names an external cluster")
    reason = build.obstacle()
    if reason:
        request.config.stash[_last_words] = f"CLUSTER TESTS SKIPPED: {reason}, and {EXTERNAL} is not set"
        pytest.skip("no control plane here; the line CLUSTER TESTS SKIPPED says why")
    plane = ControlPlane().start()
    try:
        yield plane
    finally:
        failed = request.session.testsfailed > 0
        plane.stop(keep_logs=failed)
        if failed:
            request.config.stash[_last_words] = f"logs of the control plane: {plane.logs}"


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The administrator's kubeconfig, of the external cluster or of our own control plane."""
    external = os.environ.get(EXTERNAL)
    if external:
        return Path(external)
    plane: ControlPlane = request.getfixturevalue("control_plane")
    return plane.kubeconfig


@pytest.fixture(scope="session")
def api(kubeconfig: Path) -> Api:
    """The raw API as administrator."""
    return Api.from_kubeconfig(kubeconfig)


@pytest.fixture
def kwok_nodes(api: Api) -> Iterator[NodeMaker]:
    """A function that creates nodes for this test; they are removed after it."""
    run = f"{os.getpid()}-{next(_numbers)}"
    mark = {"fairlead.test/run": run}

    def make(count: int, **shape: Unpack[NodeShape]) -> list[str]:
        labels = shape.get("labels", {})
        shape["labels"] = lambda number: {**(labels(number) if callable(labels) else labels), **mark}
        shape["prefix"] = shape.get("prefix", f"n{run}-{next(_numbers)}-")
        return create_kwok_nodes(api, count, **shape)

    yield make
    api.delete("/api/v1/nodes", labelSelector=f"fairlead.test/run={run}")


@pytest.fixture
def namespace(api: Api, kwok_nodes: NodeMaker, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh namespace; after the test it is deleted and its pods are gone. It goes before the nodes do."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    name = f"t{os.getpid()}-{next(_numbers)}-{words}"[:50].strip("-")
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    pods = f"/api/v1/namespaces/{name}/pods"
    # First the namespace: from then on no controller can create pods in it.
    api.delete(f"/api/v1/namespaces/{name}")
    try:
        # Thousands of pods take longer than one request may: it is asked again until none is left.
        api.wait(f"no pods left in {name}", lambda: _emptied(api, pods), seconds=300)
    except (ApiError, AssertionError) as error:
        warnings.warn(f"namespace {name} was not emptied: {error}", stacklevel=1)


def _emptied(api: Api, pods: str) -> bool:
    """Whether no pod is left, after one more request to delete them all."""
    api.delete(pods, gracePeriodSeconds=0)
    return not api.items(pods)
