"""Every test in this folder is marked `install`: it uses what people install (`make test-install`)."""

from pathlib import Path

import pytest
from tools.helm import build as helm_build

from tests.cluster.conftest import api, control_plane, kubeconfig, kwok_nodes, namespace
from tests.install.helms import Helm

__all__ = ["api", "control_plane", "kubeconfig", "kwok_nodes", "namespace"]

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here, before anything is selected by mark."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.install)


@pytest.fixture(scope="session", params=[3, 4], ids=["helm3", "helm4"])
def helm_program(request: pytest.FixtureRequest) -> Path:
    """Helm, in both major versions."""
    reason = helm_build.obstacle(request.param)
    if reason:
        pytest.skip(reason)
    return helm_build.program(request.param)


@pytest.fixture
def helm(helm_program: Path, kubeconfig: Path, tmp_path: Path) -> Helm:
    """Helm as an administrator of the control plane."""
    return Helm(program=helm_program, kubeconfig=kubeconfig, home=tmp_path)
