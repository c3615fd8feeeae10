"""The records of the views: what the plan decided, in the numbers of the plan."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.cli.main import cli
from fairlead.engine.changes import Changes
from fairlead.model.errors import InputError
from fairlead.web.views import QUESTIONS, VIEWS, Look, what_if
from tests.web.looks import SHOP, deployment, look_at, node


@pytest.fixture(scope="module")
def shop() -> Look:
    """The plan of examples/shop."""
    return look_at(SHOP)


def record(look: Look, view: str) -> dict[str, Any]:
    """The record of a view as the page gets it."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(VIEWS[view](look)))
    return found


def test_plan_view_is_what_the_command_prints(shop: Look, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON form: plan.json is `fairlead plan -o json`, with one word that says that it is there."""
    cli.main(["plan", "-f", SHOP, "-o", "json"], standalone_mode=False)
    assert record(shop, "plan") == {"planned": True, **json.loads(capsys.readouterr().out)}


def test_overview_counts_what_the_plan_placed(shop: Look) -> None:
    """Asked for = running + placed + waiting, and the cures add up to what waits."""
    found = record(shop, "overview")
    replicas = found["replicas"]
    assert replicas == {"asked": 55, "running": 4, "placed": 45, "waiting": 6}
    assert sum(found["waiting"].values()) == 6
    assert [site["cluster"] for site in found["sites"]] == ["north", "west"]
    assert found["sites"][1]["onDemand"] == {"minimum": 10, "running": 2, "after": 10}


def test_map_has_every_node_with_its_groups(shop: Look) -> None:
    """Columns are in step, and the sums are those of the overview."""
    sites = record(shop, "map")["sites"]
    for site, summed in zip(sites, record(shop, "overview")["sites"], strict=True):
        assert {len(column) for kind in ("allocatable", "used", "after") for column in site[kind]} == {
            len(site["names"])
        }
        for each in summed["resources"]:
            column = site["resources"].index(each["name"])
            assert sum(site["after"][column]) == each["after"]
    assert sites[1]["groups"]["tier"]["values"] == ["on-demand", "spot"]
    assert sites[1]["resources"][-1] == "disks"


def test_map_is_there_before_the_plan(shop: Look) -> None:
    """Nodes first: what is used now stands for what will be."""
    early = Look(title="test", found=shop.found, view=shop.view)
    found = record(early, "map")
    assert found["planned"] is False
    assert all(site["used"] == site["after"] for site in found["sites"])
    assert record(early, "waiting") == {"planned": False}
    assert record(early, "overview")["planned"] is False


def test_queues_tell_what_is_used_now_and_after(shop: Look) -> None:
    """From queue to namespace to job, with the bounds of the queue."""
    west = record(shop, "queues")["sites"][1]
    batch = next(queue for queue in west["queues"] if queue["name"] == "batch")
    assert (batch["used"]["cpu"], batch["after"]["cpu"], batch["asked"]["cpu"]) == ("0", "36", "46")
    assert batch["capability"] == {"cpu": "36"}
    jobs = {job["title"]: job for space in batch["namespaces"] for job in space["jobs"]}
    assert (jobs["ml/train"]["gang"], jobs["ml/train"]["starts"], jobs["ml/train"]["waiting"]) == (6, 8, 2)


def test_waiting_is_grouped_by_reason(shop: Look) -> None:
    """Each group has its cure, each member its sentence."""
    found = record(shop, "waiting")
    assert found["replicas"] == 6
    group = found["groups"][0]
    assert (group["reason"], group["cure"], group["level"]) == ("QueueCapability", "eviction", "queue")
    assert [member["title"] for member in group["members"]] == ["analytics/report", "ml/train"]
    assert "queue batch may hold 36" in group["members"][0]["message"]


def test_fleet_has_floors_draws_and_weights(shop: Look) -> None:
    """The replicas of a workload are its floors and the residual."""
    rows = record(shop, "fleet")["workloads"]
    web = next(row for row in rows if row["workload"] == "shop/web")
    assert sum(cell["replicas"] for cell in web["clusters"].values()) == 14
    assert sum(cell["floor"] for cell in web["clusters"].values()) + web["residual"] == 14
    assert web["trace"]["draws"][0]["winners"]


def test_tiers_tell_minimum_and_repair(tmp_path: Path, shop: Look) -> None:
    """The minimum holds after the plan; what runs without the requirement would be replaced by repair."""
    rows = [row for site in record(shop, "tiers")["sites"] for row in site["workloads"]]
    assert all(row["onDemandAfter"] >= row["minimum"] for row in rows)
    assert all(row["repair"] == 0 for row in rows)


def test_disks_have_space_scores_and_placements(shop: Look) -> None:
    """What the plan takes of each disk is the size of what it puts there."""
    site = record(shop, "disks")["sites"][0]
    taken = {(disk["node"], disk["disk"]): disk["usable"] - disk["usableAfter"] for disk in site["disks"]}
    assert {place for place, size in taken.items() if size} == {
        (each["node"], each["disk"]) for each in site["placements"]
    }
    assert site["scores"]["chosen"] == "west-od-1/bulk"


def test_workload_has_every_level_and_the_sentences_of_explain(shop: Look) -> None:
    """The same lines as `fairlead explain`."""
    assert shop.decided is not None
    found = QUESTIONS["workload"](shop, shop.decided, {"workload": "Deployment/shop/web"})
    assert found["fleet"]["replicas"] == 14
    assert [site["cluster"] for site in found["sites"]] == ["north", "west"]
    told = QUESTIONS["explain"](shop, shop.decided, {"what": "deployment/shop/web"})
    assert found["explain"] == told["lines"]


def test_node_tells_what_is_on_it(shop: Look) -> None:
    """Running and new replicas by workload."""
    assert shop.decided is not None
    found = QUESTIONS["node"](shop, shop.decided, {"node": "west-od-1"})
    assert {"workload": "Deployment/shop/web", "running": 2, "new": 0} in found["workloads"]
    assert found["labels"]["node.kubernetes.io/capacity"] == "on-demand"


@pytest.mark.parametrize(("view", "ask"), [("node", {"node": "no"}), ("workload", {"workload": "no"}), ("explain", {})])
def test_question_about_nothing_is_bad_input(shop: Look, view: str, ask: dict[str, str]) -> None:
    """It names what was asked for."""
    assert shop.decided is not None
    with pytest.raises(InputError):
        QUESTIONS[view](shop, shop.decided, ask)


def test_what_if_is_the_plan_of_the_changed_cluster(tmp_path: Path) -> None:
    """Moves and waits as `plan --drain` tells them, and the map after it."""
    (tmp_path / "all.yaml").write_text(node("n1") + node("n2", zone="b") + deployment("web", 6))
    look = look_at(tmp_path)
    assert look.decided is not None
    found = what_if(look, look.decided, Changes(drain=("n2",)))
    assert found["unplaced"] == {"before": 0, "after": 2}
    assert found["map"]["sites"][0]["closed"] == [1]
    with pytest.raises(InputError, match="no change is asked for"):
        what_if(look, look.decided, Changes())


def test_broken_manifest_is_told_with_its_place(tmp_path: Path) -> None:
    """The rest is planned."""
    (tmp_path / "good.yaml").write_text(node("n1") + deployment("web", 2))
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: [")
    found = record(look_at(tmp_path), "overview")
    assert found["replicas"]["placed"] == 2
    assert [Path(error["path"]).name.partition(":")[0] for error in found["errors"]] == ["bad.yaml"]


STORED = """\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
  namespace: shop
  annotations: {{resource.karmada.io/cached-from-cluster: west}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: store}}}}
  volumeClaimTemplates: [{{metadata: {{name: data}}}}]
  template: {{metadata: {{labels: {{app: store}}}}, spec: {{containers: [{{name: c}}]}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {claim}, namespace: {namespace}}}
spec: {{volumeName: cart-data}}
"""


@pytest.mark.parametrize(
    ("claim", "namespace", "disks"),
    [("data-store-0", "shop", 3), ("data-store-0", "other", 0), ("data-store-x", "shop", 0)],
)
def test_path_ends_on_the_disks_of_the_workload(tmp_path: Path, claim: str, namespace: str, disks: int) -> None:
    """By the claims that are made for its pods; those of other names and namespaces are not its own."""
    (tmp_path / "stored.yaml").write_text(STORED.format(claim=claim, namespace=namespace))
    look = look_at(SHOP, tmp_path)
    assert look.decided is not None
    found = QUESTIONS["workload"](look, look.decided, {"workload": "StatefulSet/shop/store"})
    volumes = found["sites"][0]["volumes"]
    assert len(volumes) == disks
    assert all(each["new"] and each["volume"] == "cart-data" for each in volumes)
