"""The support bundle: it has what a report needs, nothing secret, and a snapshot with the plan of the cluster."""

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from fairlead.cli.support_bundle import packed, versions
from fairlead.kube.client import Client
from fairlead.kube.manifests.catalogue import KINDS
from fairlead.kube.manifests.load import read_manifests
from fairlead.kube.manifests.pared import APPLIED, harmless, pared, suspect
from fairlead.kube.manifests.support import support_bundle
from fairlead.kube.resources import (
    CONFIG_MAPS,
    EVENTS,
    LONGHORN_SETTINGS,
    PODS,
    SECRETS,
    STORAGE_CLASSES,
)
from fairlead.kube.transport import Response
from tests.fake.api import FakeApi

ROOT = Path(__file__).parents[2]
METRICS = b"fairlead_leader 1\n"
MARK = "s3cr3t-mark"
LABELS = {"app.kubernetes.io/part-of": "fairlead", "app.kubernetes.io/name": "fairlead-fleet"}
CONTAINER = {
    "name": "c",
    "image": "web:1",
    "env": [{"name": "PASSWORD", "value": MARK}, {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": MARK}}}],
    "resources": {"requests": {"cpu": "1"}},
}
NOTES = {APPLIED: MARK, "example.com/note": MARK, "fairlead.io/on-demand": "2"}


def pod(name: str, namespace: str, **container: Any) -> dict[str, Any]:
    """A pod with the mark wherever somebody might put it."""
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": LABELS, "annotations": NOTES},
        "spec": {"containers": [{**CONTAINER, **container}], "initContainers": [CONTAINER]},
    }


class Proxied(FakeApi):
    """A fake whose pods have metrics, unless it is deaf."""

    deaf = False

    async def request(self, method: str, path: str, **more: Any) -> Response:
        if "/proxy/" in path:
            return Response(status=503, body=b"gone") if self.deaf else Response(status=200, body=METRICS)
        return await super().request(method, path, **more)


async def bundle_of(api: FakeApi) -> tuple[dict[str, bytes], list[str]]:
    """Its files and what is missing."""
    made = await support_bundle(Client(api), "fairlead-system")
    return made.files, made.missing


@pytest.fixture
def api() -> Proxied:
    """A cluster with the mark in it."""
    api = Proxied()
    api.put(SECRETS, {"metadata": {"name": "s", "namespace": "fairlead-system"}, "data": {"k": MARK}})
    api.put(PODS, pod("fleet-1", "fairlead-system"))
    api.put(PODS, pod("web-1", "shop", command=["run", MARK], args=[f"--token={MARK}"]))
    api.put(
        CONFIG_MAPS,
        {
            "metadata": {"name": "fairlead-fleet", "namespace": "fairlead-system", "labels": LABELS},
            "data": {"fairlead.yaml": "kind: Configuration"},
        },
    )
    api.put(
        STORAGE_CLASSES,
        {
            "metadata": {"name": "fast"},
            "provisioner": "p",
            "parameters": {"csi.storage.k8s.io/provisioner-secret-name": MARK, "numberOfReplicas": "3"},
        },
    )
    api.put(LONGHORN_SETTINGS, {"metadata": {"name": "backup-target", "namespace": "longhorn-system"}, "value": MARK})
    return api


async def test_bundle_has_what_a_report_needs(api: Proxied) -> None:
    """Each part is a file."""
    files, missing = await bundle_of(api)
    assert set(files) == {
        "versions/server.json",
        "components/pods.json",
        "components/deployments.json",
        "components/leases.json",
        "configuration.json",
        "events.json",
        "metrics/fleet-1.txt",
        "snapshot.json",
    }
    assert files["metrics/fleet-1.txt"] == METRICS
    assert missing == []
    assert b"kind: Configuration" in files["configuration.json"]
    names = {each["metadata"]["name"] for each in json.loads(files["snapshot.json"])["items"]}
    assert names == {"fleet-1", "web-1", "fast", "backup-target"}


async def test_events_are_those_of_the_namespace_and_those_we_wrote(api: Proxied) -> None:
    """Of another namespace only what the components say."""
    for name, namespace, by in (
        ("a", "fairlead-system", "kubelet"),
        ("b", "shop", "fairlead"),
        ("c", "shop", "kubelet"),
    ):
        api.put(EVENTS, {"metadata": {"name": name, "namespace": namespace}, "reportingController": by})
    files, _ = await bundle_of(api)
    assert [each["metadata"]["name"] for each in json.loads(files["events.json"])] == ["a", "b"]


async def test_nothing_secret_is_in_it(api: Proxied) -> None:
    """The mark is in Secrets, variables, commands, arguments, annotations, parameters, settings; and nowhere here."""
    files, _ = await bundle_of(api)
    assert [name for name, text in files.items() if MARK.encode() in text] == []
    assert ("GET", "/api/v1/secrets") not in api.calls
    assert not any("secrets" in path for _, path in api.calls)
    kept = json.loads(files["snapshot.json"])["items"]
    assert any(each.get("parameters") == {"numberOfReplicas": "3"} for each in kept)
    assert b'"PASSWORD"' in files["components/pods.json"]


async def test_what_cannot_be_read_is_named_and_the_rest_goes_on(api: Proxied) -> None:
    """A right that is missing costs its part alone."""
    api.fail(403, path="/leases", times=9)
    api.deaf = True
    api.put(PODS, {"metadata": {"name": "odd", "namespace": "shop"}, "spec": {"containers": "many"}})
    files, missing = await bundle_of(api)
    assert any(line.startswith("snapshot.json: ") and "odd" in line for line in missing)
    assert "metrics/fleet-1.txt: 503 NotServed: gone" in missing
    assert any(line.startswith("components/leases.json: 403") for line in missing)
    assert "snapshot.json" in files


@pytest.mark.parametrize(
    ("key", "want"),
    [
        ("fairlead.io/x", True),
        ("policy.karmada.io/x", True),
        (APPLIED, False),
        ("example.com/x", False),
        ("notfairlead.io/x", False),
        ("note", False),
    ],
)
def test_annotations_are_kept_by_their_domain(key: str, want: bool) -> None:
    """A domain that only ends alike is another one."""
    assert harmless(key) is want


def test_names_that_speak_of_secrets() -> None:
    """In any case of letters."""
    assert [suspect(each) for each in ("backupTargetURL", "S3-Secret", "numberOfReplicas")] == [True, True, False]


def planned(source: Path) -> Any:
    """The plan of a file or a folder."""
    done = CliRunner().invoke(cli, ["plan", "-f", str(source), "-o", "json"])
    return json.loads(done.stdout)


def test_plan_of_the_pared_objects_is_the_plan_of_the_whole_ones(tmp_path: Path) -> None:
    """Nothing that a plan reads is lost."""
    shop = ROOT / "examples" / "shop"
    items = [pared(each) for each in read_manifests([str(shop)])[0] if (each.group, each.kind) in KINDS]
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert planned(file) == planned(shop)


def test_archive_is_one_folder() -> None:
    """Files in order of name, with the time that was given."""
    archive = packed({"b": b"2", "a": b"1"}, 7.5)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive))) as found:
        assert [(each.name, each.mtime) for each in found.getmembers()] == [
            ("fairlead-support/a", 7),
            ("fairlead-support/b", 7),
        ]


def test_versions_of_everything_that_matters() -> None:
    """With the libraries as installed."""
    found = versions()
    assert found["libraries"]["numpy"][0].isdigit()  # type: ignore[index]
