"""Cases recorded from eru's own tests, and what its code was seen to do, against the node level."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.errors import InputError
from fairlead.problems import place
from fairlead.text.documents import strict

RECORDED = json.loads((Path(__file__).parent / "data" / "eru.json").read_text())["cases"]


def case_id(case: dict[str, Any]) -> str:
    """A readable test id."""
    return str(case["name"])


def solved(problem: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a problem."""
    typed = strict(problem, place.PROBLEM)
    return place.answer(typed, place.solve(typed))


def cases(kind: str) -> list[dict[str, Any]]:
    """The recorded cases that expect something of this kind."""
    found = [case for case in RECORDED if kind in case["expect"]]
    assert found
    return found


def plans_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """All plans of the only node."""
    (plans,) = answer["plans"].values()
    return list(plans)


@pytest.mark.parametrize("case", cases("badInput"), ids=case_id)
def test_input_that_cannot_be_meant_is_refused(case: dict[str, Any]) -> None:
    """Where the peer panics, hangs or guesses, one message names the place."""
    with pytest.raises(InputError) as refused:
        solved(case["problem"])
    assert refused.value.path.startswith("$.")


@pytest.mark.parametrize("case", cases("reason"), ids=case_id)
def test_too_little_room_places_nothing(case: dict[str, Any]) -> None:
    """The reason has the code, nothing is placed, and what is missing is told."""
    answer = solved(case["problem"])
    assert case["expect"]["reason"] == answer["reason"]
    assert answer["placements"] == {}
    assert 0 < answer["missing"] <= answer["unplaced"]


@pytest.mark.parametrize("case", cases("placements"), ids=case_id)
def test_placements_are_those_recorded(case: dict[str, Any]) -> None:
    """Node by node the same counts."""
    assert case["expect"]["placements"] == solved(case["problem"])["placements"]


@pytest.mark.parametrize("case", cases("totals"), ids=case_id)
def test_totals_old_and_new_are_those_recorded(case: dict[str, Any]) -> None:
    """Count and new replicas over all nodes, sorted."""
    answer = solved(case["problem"])
    totals = [node["count"] + answer["placements"].get(node["name"], 0) for node in case["problem"]["nodes"]]
    assert case["expect"]["totals"] == sorted(totals)


@pytest.mark.parametrize("case", cases("placed"), ids=case_id)
def test_everything_is_placed_where_the_peer_succeeds(case: dict[str, Any]) -> None:
    """No reason, nothing unplaced."""
    answer = solved(case["problem"])
    assert (answer["reason"], answer["unplaced"]) == (None, 0)
    assert answer["placements"]


@pytest.mark.parametrize("case", cases("plans"), ids=case_id)
def test_number_of_plans_is_that_recorded(case: dict[str, Any]) -> None:
    """As many plans as recorded (or as the difference says), and the capacity says the same."""
    answer = solved(case["problem"])
    assert case["expect"]["plans"] == len(plans_of(answer))
    assert [case["expect"]["plans"]] == list(answer["capacity"].values())


@pytest.mark.parametrize("case", cases("plansAtLeast"), ids=case_id)
def test_number_of_plans_is_no_less_than_recorded(case: dict[str, Any]) -> None:
    """The peer's tests assert a lower bound."""
    assert len(plans_of(solved(case["problem"]))) >= case["expect"]["plansAtLeast"]


@pytest.mark.parametrize("case", cases("cores"), ids=case_id)
def test_pinned_cores_are_those_recorded(case: dict[str, Any]) -> None:
    """The same cores and pieces, in any order of the replicas; and the same NUMA nodes where there are some."""
    plans = plans_of(solved(case["problem"]))
    want = Counter(json.dumps(cores, sort_keys=True) for cores in case["expect"]["cores"])
    assert want == Counter(json.dumps(plan["cpu"], sort_keys=True) for plan in plans)
    if "numa" in case["expect"]:
        assert sorted(case["expect"]["numa"]) == sorted(plan["numa"] for plan in plans)


@pytest.mark.parametrize("case", cases("firstCores"), ids=case_id)
def test_first_plan_has_the_recorded_cores(case: dict[str, Any]) -> None:
    """A fragment core in use is used again, whole cores stay whole."""
    assert case["expect"]["firstCores"] == plans_of(solved(case["problem"]))[0]["cpu"]


@pytest.mark.parametrize("case", cases("usedAfter"), ids=case_id)
def test_pieces_used_after_the_first_plans_are_those_recorded(case: dict[str, Any]) -> None:
    """Fragments fill partly used cores before they open a whole one."""
    expect = case["expect"]["usedAfter"]
    used: Counter[str] = Counter()
    for plan in plans_of(solved(case["problem"]))[: expect["replicas"]]:
        used.update(plan["cpu"])
    assert expect["cores"] == {core: used[core] for core in expect["cores"]}


@pytest.mark.parametrize("case", cases("pieces"), ids=case_id)
def test_pieces_of_a_request_are_exact(case: dict[str, Any]) -> None:
    """No float truncation."""
    assert case["expect"]["pieces"] == sum(plans_of(solved(case["problem"]))[0]["cpu"].values())


@pytest.mark.parametrize("case", cases("capacity"), ids=case_id)
def test_capacity_by_node_is_that_recorded(case: dict[str, Any]) -> None:
    """Replicas that fit each node."""
    assert case["expect"]["capacity"] == solved(case["problem"])["capacity"]


@pytest.mark.parametrize("case", [*cases("total"), *cases("totalAtLeast"), *cases("totalAtMost")], ids=case_id)
def test_total_capacity_is_that_recorded(case: dict[str, Any]) -> None:
    """The sum over the nodes, exactly or within what the peer's tests assert."""
    expect = case["expect"]
    total = sum(solved(case["problem"])["capacity"].values())
    assert expect.get("total", total) == total
    assert expect.get("totalAtLeast", total) <= total <= expect.get("totalAtMost", total)


@pytest.mark.parametrize("case", [*cases("perNodeAtLeast"), *cases("nodesUsed")], ids=case_id)
def test_spread_over_nodes_is_within_what_is_recorded(case: dict[str, Any]) -> None:
    """The fewest and most replicas on a node that got some, and how many nodes those are."""
    expect, counts = case["expect"], list(solved(case["problem"])["placements"].values())
    assert expect.get("nodesUsed", len(counts)) == len(counts)
    assert expect.get("perNodeAtLeast", 1) <= min(counts)
    assert max(counts) <= expect.get("perNodeAtMost", max(counts))


@pytest.mark.parametrize("case", cases("mountsAt"), ids=case_id)
def test_volumes_of_a_plan_are_those_recorded(case: dict[str, Any]) -> None:
    """Which volume each mount got, and what it is charged there."""
    plans = solved(case["problem"])["plans"]
    for place_, mounts in case["expect"]["mountsAt"].items():
        node, _, number = place_.rstrip("]").partition("[")
        held = plans[node][int(number)]["mounts"]
        assert mounts == {text: held[text] for text in mounts}


@pytest.mark.parametrize("case", cases("volumesAfter"), ids=case_id)
def test_volumes_left_after_the_placement_are_those_recorded(case: dict[str, Any]) -> None:
    """Smaller volumes are filled first, so that the larger stay whole."""
    pins = solved(case["problem"])["pins"]
    for node in case["problem"]["nodes"]:
        left = dict(node["volumes"])
        for pin in pins[node["name"]]:
            for name, size in pin["volumes"].items():
                left[name] -= size
        assert case["expect"]["volumesAfter"][node["name"]] == left
