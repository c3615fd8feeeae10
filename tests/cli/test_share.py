"""`fairlead share` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.model.errors import InputError
from tests.peers.test_volcano import CASES, manifests
from tests.queue.tables import TABLES, problem

FIRST = problem(TABLES["default weights"], one_job=True)


def _run(value: Any, *arguments: str, source: str = "-") -> Result:
    text = value if isinstance(value, str) else json.dumps(value)
    return CliRunner().invoke(cli, ["share", "-f", source, *arguments], input=text, standalone_mode=False)


def _answer(value: Any, *arguments: str) -> dict[str, Any]:
    result = _run(value, "-o", "json", *arguments)
    assert result.exception is None, result.exception
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


def test_answer_has_the_fields_of_the_contract() -> None:
    """Queues, namespaces, jobs, unplaced as a number, reason, trace; amounts as quantities."""
    answer = _answer(FIRST)
    assert answer["queues"]["q1"]["deserved"] == answer["queues"]["q1"]["allocated"] == {"cpu": "8"}
    row = answer["namespaces"][0]
    assert (row["queue"], row["namespace"], row["allocated"], row["share"]) == ("q1", "ns1", {"cpu": "4"}, 0.25)
    job = answer["jobs"]["q1-ns1"]
    assert (job["admitted"], job["pending"], job["reason"]) == (4, 1, "NamespaceShare")
    assert (answer["unplaced"], answer["reason"]) == (11, "SomeJobsWait")
    assert answer["trace"]["considered"] == 4


def test_the_share_of_a_namespace_is_of_the_whole_whatever_its_weight() -> None:
    """A weight says how much it deserves, and does not change what it holds."""
    job = {"name": "a", "queue": "q", "namespace": "ns", "replicas": 4, "request": {"cpu": "1"}}
    given = {
        "total": {"cpu": "16"},
        "queues": [{"name": "q"}],
        "namespaces": [{"name": "ns", "weight": 3}],
        "jobs": [job],
    }
    (row,) = _answer(given)["namespaces"]
    assert (row["weight"], row["allocated"], row["share"]) == (3, {"cpu": "4"}, 0.25)


def test_exit_code_is_1_while_something_waits_and_0_when_all_is_admitted() -> None:
    """The answer is printed either way."""
    assert _run(FIRST, "-o", "json").return_value == 1
    assert _run({**FIRST, "total": {"cpu": "27"}}, "-o", "json").return_value == 0


def test_many_problems_come_one_a_line_and_a_bad_one_does_not_stop_the_others() -> None:
    """An error record in its place; the exit code is the highest."""
    result = _run("\n".join([json.dumps(FIRST), '{"total":{"cpu":"x"}}', json.dumps(FIRST)]), "-o", "json")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [("error" in record) for record in records] == [False, True, False]
    assert result.return_value == 2


def test_table_shows_bars_of_used_deserved_and_asked_for() -> None:
    """Full, missing and wished parts, and the reasons of those that wait."""
    result = _run({**FIRST, "queues": [{"name": "q1", "weight": 0}, {"name": "q2"}]}, "-o", "table")
    assert "12 cpu" in result.stdout
    assert "█" in result.stdout
    assert "UnknownQueue" not in result.stdout
    assert "q1 has the weight 0" in result.stdout


def test_table_tells_evictions_and_reservations() -> None:
    """Below the bars."""
    jobs = [
        {"name": "low", "replicas": 3, "running": 3, "request": {"cpu": 1}},
        {"name": "high", "request": {"cpu": 1}, "priority": 9},
        {"name": "gang", "replicas": 3, "minMember": 3, "request": {"cpu": 1}, "since": 0},
    ]
    value = {"total": {"cpu": 3}, "queues": [{"name": "q"}], "jobs": jobs, "preempt": True}
    told = _run({**value, "now": 9, "reserveAfter": 1}, "-o", "table").stdout
    assert "preempt: 1 replica of low must go for high" in told
    assert "room is kept for gang" in told


def test_long_lists_of_waiting_jobs_are_cut_in_the_table_and_counted_in_the_explanation() -> None:
    """Forty by name, then how many more."""
    jobs = [{"name": f"j{row}", "request": {"cpu": 1}} for row in range(70)]
    result = _run({"total": {"cpu": 1}, "queues": [{"name": "q"}], "jobs": jobs}, "-o", "table", "--explain")
    assert "… and 29 more jobs that wait" in result.stdout
    assert "69 jobs in all wait for QueueShare." in result.stdout


def test_explanation_says_why_and_what_would_change_it() -> None:
    """Sentences for queues, namespaces, jobs, evictions, reservations and bad queues."""
    jobs = [
        {"name": "low", "queue": "a", "replicas": 4, "running": 4, "request": {"cpu": 1}},
        {"name": "poor", "queue": "b", "request": {"cpu": 2}},
        {"name": "big", "queue": "b", "replicas": 4, "minMember": 4, "request": {"cpu": 1}, "since": 0},
    ]
    queues = [{"name": "a"}, {"name": "b"}, {"name": "c", "weight": 0}]
    value = {"total": {"cpu": 4}, "queues": queues, "jobs": jobs, "preempt": True, "now": 9, "reserveAfter": 1}
    told = "\n".join(_answer(value, "--explain")["explanation"])
    assert "queue a deserves 2 cpu, asks for 4 cpu and has 2 cpu." in told
    assert "For poor of another queue 2 replicas of low must go." in told
    assert "What is free is kept for big, which has waited longest." in told
    assert "queue c has the weight 0; expected 1 … 65535 (WeightOutOfRange)" in told
    assert "it starts when room is given back or added" in told


def test_manifests_are_taken_from_a_directory_and_name_pods_and_nodes(tmp_path: Path) -> None:
    """Volcano's own case: the pod that may go is named, and the node that the new one fits."""
    case = CASES["cap-2"]
    for number, manifest in enumerate(manifests(case)):
        tmp_path.joinpath(f"{number}.json").write_text(json.dumps(manifest.value))
    result = _run("", "--preempt", "-o", "json", source=str(tmp_path))
    answer = json.loads(result.stdout)
    assert answer["victims"] == {"ns1/pg5": 1}
    assert answer["evictions"][0]["pods"] == ["ns1/p6"]
    assert answer["nodes"] == {"ns1/pg6": {"n2": 1}}


def test_manifests_come_on_standard_input_as_a_list_too() -> None:
    """As `kubectl get -o json` prints them."""
    items = [manifest.value for manifest in manifests(CASES["cap-0"])]
    answer = _answer({"apiVersion": "v1", "kind": "List", "items": items}, "--reserve-after", "60")
    assert answer["nodes"] == {"ns1/pg2": {"n1": 1}}


def test_options_for_manifests_are_refused_on_a_problem() -> None:
    """A problem says all that itself."""
    assert isinstance(_run(FIRST, "--preempt").exception, InputError)


@pytest.mark.parametrize(
    "text", ['{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}', '{"apiVersion":1,"kind":"x"}']
)
def test_manifests_without_a_node_or_broken_are_bad_input(text: str) -> None:
    """One line that says what is missing."""
    assert isinstance(_run(text).exception, InputError)
