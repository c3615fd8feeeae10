"""`fairlead balance` from the outside: JSON in, JSON out, exit codes, pictures, manifests."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.model.errors import InputError

NODES = [
    {
        "name": "A",
        "disks": [{"name": "A1", "usable": 900, "total": 1000}, {"name": "A2", "usable": 100, "total": 200}],
    },
    {
        "name": "B",
        "disks": [{"name": "B1", "usable": 600, "total": 800}, {"name": "B2", "usable": 700, "total": 1000}],
    },
]
SCENARIO = {"size": 100, "nodes": NODES}


def run(value: Any, *options: str) -> Result:
    """The command on a problem given as a value or as text."""
    text = value if isinstance(value, str) else json.dumps(value)
    return CliRunner().invoke(cli, ["balance", "-f", "-", *options], input=text, standalone_mode=False)


def answered(value: Any, *options: str) -> dict[str, Any]:
    """The JSON answer."""
    result = run(value, "-o", "json", *options)
    assert result.exception is None, result.exception
    record: dict[str, Any] = json.loads(result.stdout)
    return record


def test_scenario_one_through_the_command() -> None:
    """Placement and scores as the contract has them."""
    got = answered(SCENARIO)
    assert got["placements"] == [{"node": "B", "disk": "B2"}]
    assert {name: round(score, 3) for name, score in got["scores"]["nodes"].items()} == {"A": 0.364, "B": 0.182}
    assert {name: round(score, 3) for name, score in got["scores"]["disks"].items()} == {"B1": 0.333, "B2": 0.0}
    assert (got["unplaced"], got["reason"]) == (0, None)


def test_scenario_two_scope_all_lists_every_candidate() -> None:
    """The table of scenario 2, while the placement stays on the chosen node."""
    got = answered({**SCENARIO, "alpha": 0.5, "scope": "all"})
    assert {name: round(score, 3) for name, score in got["scores"]["disks"].items()} == {
        "A1": 0.855,
        "A2": 1.584,
        "B1": 1.021,
        "B2": 1.018,
    }
    assert got["placements"] == [{"node": "A", "disk": "A1"}]


def test_alpha_is_read_as_the_decimal_it_is_written_as() -> None:
    """0.1 is one tenth, not the nearest binary fraction."""
    got = answered({**SCENARIO, "alpha": 0.1})
    assert got["trace"]["scores"][0]["node"] == "41/583"


def test_two_replicas_go_to_two_nodes_and_a_third_is_unplaced() -> None:
    """Anti-affinity of nodes is hard by default; the answer is printed and the exit code is 1."""
    result = run({**SCENARIO, "replicas": 3}, "-o", "json")
    got = json.loads(result.stdout)
    assert got["placements"] == [{"node": "B", "disk": "B2"}, {"node": "A", "disk": "A1"}]
    assert (got["unplaced"], got["reason"], got["cure"]) == (1, "NoDisk", "room")
    assert "4 NodeAntiAffinity" in got["message"]
    assert result.return_value == 1


def test_disks_that_share_a_name_are_told_with_their_node() -> None:
    """`node/disk` in the scores, plain names in the placements."""
    nodes = [{"name": name, "disks": [{"name": "d", "usable": 10}]} for name in ("a", "b")]
    got = answered({"size": 1, "scope": "all", "nodes": nodes})
    assert set(got["scores"]["disks"]) == {"a/d", "b/d"}
    assert got["placements"] == [{"node": "a", "disk": "d"}]


def test_amounts_may_be_quantities_numbers_or_worked_out() -> None:
    """available − reserved − scheduled, never below 0; total is maximum − reserved."""
    disks = [
        {"name": "d1", "available": "100Gi", "reserved": "10Gi", "scheduled": "30Gi", "maximum": "120Gi"},
        {"name": "d2", "available": "10Gi", "scheduled": "30Gi", "maximum": "20Gi"},
    ]
    got = answered({"size": "60Gi", "nodes": [{"name": "n", "disks": disks}]})
    assert got["placements"] == [{"node": "n", "disk": "d1"}]
    assert got["trace"]["rejected"] == [{"reason": "InsufficientUsable", "count": 1, "names": ["n/d2"]}]


def test_usable_may_be_taken_from_the_maximum() -> None:
    """maximum − reserved − scheduled does not count written data twice."""
    disk = {"name": "d", "available": "20Gi", "scheduled": "20Gi", "maximum": "40Gi"}
    value = {"size": "10Gi", "nodes": [{"name": "n", "disks": [disk]}]}
    assert answered(value)["unplaced"] == 1
    assert answered({**value, "usableAs": "maximum"})["unplaced"] == 0


def test_pending_placements_are_charged() -> None:
    """600 on its way to B2 turns the choice to A1."""
    got = answered({**SCENARIO, "pending": [{"node": "B", "disk": "B2", "size": 600}]})
    assert got["placements"] == [{"node": "A", "disk": "A1"}]


def test_many_volumes_in_one_problem() -> None:
    """Placements carry the volume; volumes with something unplaced are listed."""
    value = {
        "volumes": [{"name": "small", "size": 10}, {"name": "huge", "size": 5000}],
        "nodes": SCENARIO["nodes"],
    }
    got = answered(value)
    assert got["placements"] == [{"volume": "small", "node": "B", "disk": "B2"}]
    assert [(each["volume"], each["unplaced"], each["reason"]) for each in got["volumes"]] == [("huge", 1, "NoDisk")]


def test_many_problems_one_bad() -> None:
    """A line a problem: the bad one yields an error record, the others go on, the exit code is 2."""
    bad = {**SCENARIO, "alpha": 2}
    result = run("\n".join(json.dumps(each) for each in (SCENARIO, bad, SCENARIO)), "-o", "json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [("placements" in line, "error" in line) for line in lines] == [(True, False), (False, True), (True, False)]
    assert result.return_value == 2


def disk(**fields: Any) -> dict[str, Any]:
    """A problem with one disk."""
    return {"size": 10, "nodes": [{"name": "n", "disks": [{"name": "d", **fields}]}]}


BAD = {
    "alpha above 1": ({**SCENARIO, "alpha": 1.5}, "$.alpha"),
    "alpha below 0": ({**SCENARIO, "alpha": -0.1}, "$.alpha"),
    "no size": ({"nodes": []}, "$.size"),
    "size 0": ({**SCENARIO, "size": 0}, "$.size"),
    "negative size": ({**SCENARIO, "size": -5}, "$.size"),
    "size that is no quantity": ({**SCENARIO, "size": "lots"}, "$.size"),
    "negative replicas": ({**SCENARIO, "replicas": -1}, "$.replicas"),
    "unknown field": ({**SCENARIO, "sizes": 1}, "$"),
    "unknown scope": ({**SCENARIO, "scope": "rack"}, "$.scope"),
    "unknown anti-affinity": ({**SCENARIO, "antiAffinity": "rack"}, "$.antiAffinity"),
    "hard and soft": ({**SCENARIO, "softAntiAffinity": ["node"]}, "$.softAntiAffinity"),
    "usable and available": (disk(usable=1, available=1), "$.nodes[0].disks[0].usable"),
    "usable and scheduled": (disk(usable=1, scheduled=1), "$.nodes[0].disks[0].usable"),
    "neither usable nor available": (disk(reserved=1), "$.nodes[0].disks[0].usable"),
    "no maximum to take usable from": ({**disk(available=1), "usableAs": "maximum"}, "$.nodes[0].disks[0].maximum"),
    "negative usable": (disk(usable=-1), "$.nodes[0].disks[0].usable"),
    "no total for ratios": ({**disk(usable=1), "alpha": 0.5}, "$.nodes[0].disks[0].total"),
    "a node twice": ({"size": 1, "nodes": [{"name": "n"}, {"name": "n"}]}, "$.nodes[1].name"),
    "a disk twice": (
        {"size": 1, "nodes": [{"name": "n", "disks": [{"name": "d", "usable": 1}] * 2}]},
        "$.nodes[0].disks[1].name",
    ),
    "a volume twice": ({"nodes": [], "volumes": [{"name": "v", "size": 1}] * 2}, "$.volumes[1].name"),
    "size beside volumes": ({"nodes": [], "size": 1, "volumes": []}, "$.size"),
    "hard and soft in a volume": (
        {"nodes": [], "volumes": [{"name": "v", "size": 1, "softAntiAffinity": ["node"]}]},
        "$.volumes[0].softAntiAffinity",
    ),
    "rebalance for nothing": ({**SCENARIO, "rebalance": {}}, "$.rebalance"),
    "evacuate what is not there": ({**SCENARIO, "rebalance": {"evacuate": [{"node": "X"}]}}, "$.rebalance.evacuate[0]"),
}


@pytest.mark.parametrize(("value", "path"), BAD.values(), ids=BAD.keys())
def test_bad_input_names_its_place(value: dict[str, Any], path: str) -> None:
    """One line with the JSON path."""
    error = run(value, "-o", "json").exception
    assert isinstance(error, InputError)
    assert error.path.endswith(path)


def test_maximum_zero_is_a_reason_not_an_error() -> None:
    """The other disk still takes the replica."""
    disks = [{"name": "d0", "available": 50, "maximum": 0}, {"name": "d1", "available": 50, "maximum": 50}]
    got = answered({"size": 10, "alpha": 0.5, "nodes": [{"name": "n", "disks": disks}]})
    assert got["placements"] == [{"node": "n", "disk": "d1"}]
    assert got["trace"]["rejected"][0]["reason"] == "NoCapacity"


def test_most_free_rule_as_a_baseline() -> None:
    """The older rule through the problem."""
    assert answered({**SCENARIO, "rule": "most-free"})["placements"] == [{"node": "A", "disk": "A1"}]


MOVES = {
    "nodes": [
        {"name": "a", "disks": [{"name": "d", "available": 1000, "scheduled": 900, "maximum": 1000}]},
        {"name": "b", "disks": [{"name": "d", "available": 1000, "maximum": 1000}]},
    ],
    "volumes": [{"name": f"v{row}", "size": 300, "existing": [{"node": "a", "disk": "d"}]} for row in range(3)],
    "rebalance": {"target": 0.5, "maxMoves": 3, "maxBytes": "1Ki"},
}


def test_moves_are_advised_from_a_problem() -> None:
    """One move of 300 brings 1.64 to 0.55 and a second is not needed below 0.6."""
    got = answered({**MOVES, "rebalance": {"target": 0.6}})
    assert [(move["replica"], move["from"]["node"], move["to"]["node"], move["size"]) for move in got["moves"]] == [
        ("v0-1", "a", "b", "300")
    ]
    assert got["imbalance"]["nodes"]["after"] == pytest.approx(300 * 2 / 1100)


def test_nothing_may_be_asked_for() -> None:
    """No replica, or no move: a number of 0 is a number."""
    assert answered({**SCENARIO, "replicas": 0})["placements"] == []
    assert answered({**MOVES, "rebalance": {"target": 0.6, "maxMoves": 0}})["moves"] == []


def test_evacuation_from_a_problem() -> None:
    """All three leave a."""
    got = answered({**MOVES, "rebalance": {"evacuate": [{"node": "a", "disk": "d"}]}})
    assert len(got["moves"]) == 3
    assert {move["stage"] for move in got["moves"]} == {"empty"}


def test_picture_shows_disks_before_and_after() -> None:
    """A bar a disk; the taken part is drawn apart."""
    text = run(SCENARIO, "-o", "table").stdout
    assert "replica → B/B2" in text
    assert "700    600" in text
    assert "▒" in text


def test_picture_of_moves_and_of_a_failure() -> None:
    """Moves with their way and scores; what is unplaced in one line."""
    assert "a/d → b/d" in run(MOVES, "-o", "table").stdout
    assert "NoDisk: no disk takes 1 of 1" in run({**SCENARIO, "size": 5000}, "-o", "table").stdout


def test_explanation_tells_every_candidate() -> None:
    """Scores of those that fit, reasons of those that do not, and what would change it."""
    lines = answered({**SCENARIO, "size": 650}, "--explain")["explanation"]
    text = "\n".join(lines)
    assert "A replica goes to B/B2 (usable 700 before, 50 in the end)." in text
    assert "node B: " in text
    assert "A/A2 not: the usable space of the disk is below the size of the replica (InsufficientUsable;" in text


def test_explanation_of_moves() -> None:
    """What each move is for."""
    lines = answered(MOVES, "--explain")["explanation"]
    assert any("evens out the nodes" in line for line in lines)


def test_options_for_manifests_are_refused_with_a_problem() -> None:
    """A problem says all that itself."""
    error = run(SCENARIO, "--target", "0.1").exception
    assert isinstance(error, InputError)
    assert "the options are for manifests" in error.message


def longhorn(**changes: Any) -> list[dict[str, Any]]:
    """Three Longhorn nodes, a volume with one scheduled and one waiting replica, one setting."""

    def item(kind: str, name: str, **rest: Any) -> dict[str, Any]:
        return {"apiVersion": "longhorn.io/v1beta2", "kind": kind, "metadata": {"name": name}, **rest}

    nodes = [
        item(
            "Node",
            f"n{row}",
            spec={
                "allowScheduling": True,
                "disks": {"disk-1": {"path": "/data", "allowScheduling": True, "storageReserved": 0}},
            },
            status={
                "conditions": [{"type": "Ready", "status": "True"}],
                "diskStatus": {
                    "disk-1": {
                        "diskUUID": f"uuid-{row}",
                        "storageAvailable": (100 + row) * 2**30,
                        "storageMaximum": 200 * 2**30,
                        "storageScheduled": 10 * 2**30,
                    }
                },
            },
        )
        for row in range(3)
    ]
    volume = item("Volume", "pvc", spec={"size": str(10 * 2**30), "numberOfReplicas": 2, **changes})
    replicas = [
        item("Replica", "pvc-r-a", spec={"volumeName": "pvc", "nodeID": "n2", "diskID": "uuid-2"}),
        item("Replica", "pvc-r-b", spec={"volumeName": "pvc", "nodeID": ""}),
    ]
    return [*nodes, volume, *replicas, item("Setting", "storage-over-provisioning-percentage", value="200")]


def test_longhorn_manifests_place_the_waiting_replica(tmp_path: Path) -> None:
    """n2 has the most space but a replica already; n1 is next. A List in YAML, as kubectl prints it."""
    path = tmp_path / "longhorn.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": longhorn()}))
    result = CliRunner().invoke(cli, ["balance", "-f", str(path), "-o", "json"], standalone_mode=False)
    got = json.loads(result.stdout)
    assert got["placements"] == [{"volume": "pvc", "replica": "pvc-r-b", "node": "n1", "disk": "disk-1"}]
    by_directory = CliRunner().invoke(cli, ["balance", "-f", str(tmp_path), "-o", "json"], standalone_mode=False)
    assert by_directory.stdout == result.stdout


def test_longhorn_manifests_that_are_partly_broken_still_give_an_answer() -> None:
    """A volume without a size, a replica without a volume, a setting that is no number: told, and the rest goes on."""
    items = longhorn()
    items[-1]["value"] = "many"
    items.append({**items[3], "metadata": {"name": "bad"}, "spec": {"size": "ten"}})
    items.append({**items[4], "metadata": {"name": "lost"}, "spec": {"volumeName": "gone"}})
    result = run("\n---\n".join(yaml.safe_dump(each) for each in items), "-o", "json")
    got = json.loads(result.stdout)
    assert got["placements"][0]["replica"] == "pvc-r-b"
    assert sorted(each["path"] for each in got["errors"]) == [
        "Replica lost",
        "Setting storage-over-provisioning-percentage",
        "Volume bad: spec.size",
    ]


@pytest.mark.parametrize("field", ["backingImage", "linkedCloneSrcReplicaName"])
def test_a_replica_that_only_some_disks_can_hold_is_left_to_longhorn(field: str) -> None:
    """Which disks have the backing image is not known here: nothing is placed, and that is said, not exit code 2."""
    items = longhorn()
    items[5]["spec"][field] = "ubuntu"
    result = run(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), "-o", "json")
    got = json.loads(result.stdout)
    assert (got["placements"], got["unplaced"], result.return_value) == ([], 0, 0)
    assert [(each["path"], "Longhorn places it" in each["message"]) for each in got["errors"]] == [("Volume pvc", True)]
    assert "Volume pvc: it " in result.stderr


@pytest.mark.parametrize(
    ("options", "moves"),
    [(["--target", "0.001"], 0), (["--evacuate", "n2"], 1), (["--evacuate", "n2/disk-1", "--max-moves", "0"], 0)],
)
def test_longhorn_manifests_and_moves(options: list[str], moves: int) -> None:
    """A whole volume moves off n2; a volume that lacks a replica would be left alone."""
    items = [each for each in longhorn(numberOfReplicas=1) if each["metadata"]["name"] != "pvc-r-b"]
    got = json.loads(
        run(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), "-o", "json", *options).stdout
    )
    assert len(got["moves"]) == moves


@pytest.mark.parametrize(
    "options",
    [["--max-moves", "3"], ["--alpha", "2"], ["--target", "x"], ["--evacuate", "nowhere"], ["--max-bytes", "-1"]],
)
def test_bad_options_are_refused(options: list[str]) -> None:
    """With the name of the option."""
    extra = ["--target", "0.1"] if options[0] == "--max-bytes" else []
    error = run(json.dumps({"apiVersion": "v1", "kind": "List", "items": longhorn()}), *options, *extra).exception
    assert isinstance(error, InputError)
    assert error.path == options[0]


def test_manifests_without_longhorn_nodes_are_refused() -> None:
    """A list of something else."""
    error = run('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}').exception
    assert isinstance(error, InputError)
    assert "has no Node of longhorn.io" in error.message


def test_existing_replicas_on_nodes_that_are_not_there_are_told() -> None:
    """A name that may be misspelt keeps nothing apart, so it is said; a node without disks is known."""
    existing = [{"node": "B"}, {"node": "b10"}, {"node": "b2"}, {"node": "A", "disk": "A1"}, {"node": "C"}]
    problem = {**SCENARIO, "nodes": [*NODES, {"name": "C"}], "existing": existing}
    assert answered(problem)["trace"]["notes"] == [
        "an existing replica is on b2, which is not among the nodes",
        "an existing replica is on b10, which is not among the nodes",
    ]
    assert "notes" not in answered({**SCENARIO, "existing": existing[:1]})["trace"]


def test_missing_figure_is_told_with_the_ways_to_give_it() -> None:
    """What `usableAs: maximum` needs is not `available`."""
    disks = {"nodes": [{"name": "n", "disks": [{"name": "d", "available": 10}]}]}
    first, second = (
        run({"size": 5, **disks, **how}).exception
        for how in ({"usableAs": "maximum"}, {"nodes": [{"name": "n", "disks": [{"name": "d"}]}]})
    )
    assert str(first).endswith("disks[0].maximum: is missing; expected `usable` or `maximum`")
    assert str(second).endswith("disks[0].usable: is missing; expected `usable`, or `available`, or `maximum`")
