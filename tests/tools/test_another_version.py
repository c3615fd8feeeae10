"""A control plane of another version: its modules are those that this version of Kubernetes requires itself."""

import pytest
from tools.controlplane import another, build

THEIRS = """\
module k8s.io/kubernetes
go 1.24.0
require (
	go.etcd.io/etcd/client/pkg/v3 v3.6.4
	go.etcd.io/etcd/client/v3 v3.6.4
	k8s.io/api v0.0.0
)
replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""


def test_module_of_another_version() -> None:
    """Staging modules at the release that belongs to it, etcd at the version that it names."""
    lines = another.module("v1.34.4", THEIRS).splitlines()
    assert "require k8s.io/kubernetes v1.34.4" in lines
    assert "require go.etcd.io/etcd/server/v3 v3.6.4" in lines
    assert "go 1.24.0" in lines
    replaced = [line for line in lines if line.startswith("replace")]
    assert replaced == [
        "replace k8s.io/api => k8s.io/api v0.34.4",
        "replace k8s.io/client-go => k8s.io/client-go v0.34.4",
    ]


def test_module_of_an_unknown_form_is_refused() -> None:
    """Rather than building something else."""
    with pytest.raises(build.BuildError, match="is not as expected"):
        another.module("v1.99.0", "module k8s.io/kubernetes\n")


@pytest.mark.parametrize("version", ["", "pinned"])
def test_nothing_asked_for_is_the_pinned_version(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Also where that version is named."""
    named = build.pinned("k8s.io/kubernetes") if version else ""
    monkeypatch.setenv(another.VARIABLE, named)
    assert another.chosen(print) is build.CONTROL_PLANE


@pytest.mark.parametrize("version", ["1.34.4", "v1.34", "latest", "v1.34.4-rc.0"])
def test_version_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """With what was expected."""
    monkeypatch.setenv(another.VARIABLE, version)
    with pytest.raises(build.BuildError, match=r"expected a version such as v1\.34\.4"):
        another.chosen(print)
