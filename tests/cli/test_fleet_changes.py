"""What-ifs and differences of a fleet whose clusters nobody has looked into."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from fairlead.cli.main import cli
from tests.cli.clusters import Folder, keeper

POLICY: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "all", "namespace": "shop"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
        "placement": {
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
        },
    },
}


def cluster(name: str) -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "status": status,
    }


def fleet(path: Path, replicas: int) -> Folder:
    """Two clusters of equal weight."""
    path.mkdir(exist_ok=True)
    return Folder(path, cluster("a"), cluster("b"), POLICY, keeper("Deployment", "web", replicas=replicas))


def test_a_what_if_tells_what_each_cluster_gets(tmp_path: Path) -> None:
    """The nodes are not known, so that no site shows the change."""
    here = fleet(tmp_path, 4)
    assert "Fleet: shop/web: a 2 → 4, b 2 → 4\n" in here.run("plan", "--scale", "web=8", "-o", "table").stdout
    record = json.loads(here.run("plan", "--scale", "web=8", "-o", "json").stdout)
    counts = {"before": 2, "after": 4}
    assert record["fleet"] == [{"kind": "Deployment", "workload": "shop/web", "clusters": {"a": counts, "b": counts}}]


def test_a_difference_tells_it_too(tmp_path: Path) -> None:
    """Of two sets of manifests; of the same ones there is nothing to tell."""
    before, after = fleet(tmp_path / "before", 4).file, fleet(tmp_path / "after", 2).file
    told = CliRunner().invoke(cli, ["diff", str(before), str(after), "-o", "table"], standalone_mode=False).stdout
    assert "Fleet: shop/web: a 2 → 1, b 2 → 1\n" in told
    same = CliRunner().invoke(cli, ["diff", str(before), str(before), "-o", "json"], standalone_mode=False).stdout
    assert "fleet" not in json.loads(same)
