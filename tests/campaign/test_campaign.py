"""The campaign's own parts, and a small run of it in every test run."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.campaign import counts, fuzzing, targets
from tests.campaign.audit import GROUP, Audit
from tests.campaign.fuzzing import Fuzzed, fuzz, replay
from tests.campaign.mangling import fuzzed, mangled
from tests.campaign.stepped import set_clock
from tests.campaign.targets import DefectError, called


def test_mangled_inputs_are_answered() -> None:
    """Some hundred inputs reach every target; none sets off a defect."""
    found = fuzz(900, seed=11)
    assert found.defects == []
    assert set(found.ends) == set(fuzzing.SHARES)
    assert found.inputs >= 900


def test_the_same_seed_mangles_the_same_way() -> None:
    """A defect can be found again by its seed."""
    seeds = targets.PROBLEMS["divide"]
    assert fuzzed(Random("1/verbs/2"), seeds) == fuzzed(Random("1/verbs/2"), seeds)
    assert replay("1/wire/2") == replay("1/wire/2")


def test_mangling_changes_and_removes() -> None:
    """Of a hundred mangled problems most differ from the seed, and some lack a field."""
    seed = targets.PROBLEMS["divide"][0]
    made = [mangled(seed, Random(number)) for number in range(100)]
    assert sum(each != seed for each in made) > 60
    assert any(isinstance(each, dict) and "clusters" not in each for each in made)


def test_a_defect_is_told_with_its_seed_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that fails is noted; the other targets still get their inputs."""

    def broken(chance: Random) -> dict[str, int]:
        raise DefectError("on purpose")

    monkeypatch.setattr(targets, "wire", broken)
    monkeypatch.setattr(fuzzing, "SHARES", {"wire": 1, "config": 1})
    found = fuzz(10, seed=3)
    assert found.defects[0] == "3/wire/0: on purpose"
    assert found.ends["wire"]["defect"] == found.ends["config"].total() == 5


def test_a_call_that_ends_in_a_defect_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that reaches the shell, or an exit code nobody promised, is a defect."""

    def raising() -> None:
        raise KeyError("x")

    monkeypatch.setattr(targets, "main", raising)
    with pytest.raises(DefectError, match="fairlead divide: KeyError"):
        called(["divide"], b"")

    def leaving() -> None:
        raise SystemExit(7)

    monkeypatch.setattr(targets, "main", leaving)
    with pytest.raises(DefectError, match="exit code 7"):
        called(["divide"], b"")


def test_runs_add_up_on_the_page(tmp_path: Path) -> None:
    """Two runs: their counts are summed, each has a row, and what was found is listed."""
    for seed, defects in ((1, []), (2, ["2/verbs/9: a|b"])):
        found = Fuzzed(seed=seed, seconds=60.0, defects=defects, memory_mib=(80.0, 81.0))
        found.ends["verbs"]["exit 2"] = 600
        counts.add(counts.fuzz_run(found), tmp_path)
    page = (tmp_path / "campaign.md").read_text()
    assert "| inputs | 1,200 | 1,000,000 |" in page
    assert "| fuzz | 2 | 1.0 | inputs 600, verbs: exit 2 600; 80 MiB after a tenth, 81 MiB at the end | 1 |" in page
    assert "seed 2: 2/verbs/9: a\\|b" in page
    assert [json.loads(line)["seed"] for line in (tmp_path / "campaign.jsonl").read_text().splitlines()] == [1, 2]


def event(user: str, verb: str, resource: str, at: int, holder: str | None = None, /, **more: Any) -> dict[str, Any]:
    """An audit event of a request that came in second `at` and was answered a second later."""
    asked = {} if holder is None else {"requestObject": {"spec": {"holderIdentity": holder}}}
    return {
        "user": {"username": user, "groups": [GROUP]},
        "verb": verb,
        "requestURI": f"/{resource}/x",
        "objectRef": {"resource": resource, "name": "x"},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": f"2026-01-01T00:00:{at:02}.000000Z",
        "stageTimestamp": f"2026-01-01T00:00:{at + 1:02}.000000Z",
        **asked,
        **more,
    }


WEBHOOK = {"username": "w", "groups": ["system:serviceaccounts"]}
LATE: dict[str, tuple[list[dict[str, Any]], int]] = {
    "a leader writes": ([event("a", "update", "leases", 1, "A"), event("a", "create", "pods", 3)], 0),
    "nobody led yet": ([event("a", "patch", "pods", 3), event("a", "update", "leases", 5, "A")], 1),
    "another leads by now": (
        [event("a", "update", "leases", 1, "A"), event("b", "update", "leases", 5, "B"), event("a", "patch", "x", 7)],
        1,
    ),
    "while another takes the lease": (
        [event("a", "update", "leases", 1, "A"), event("b", "update", "leases", 5, "B"), event("a", "patch", "x", 6)],
        0,
    ),
    "the lease was given back": (
        [event("a", "update", "leases", 1, "A"), event("a", "update", "leases", 5, ""), event("a", "patch", "x", 7)],
        1,
    ),
    "it leads again": (
        [
            event("a", "update", "leases", 1, "A"),
            event("b", "update", "leases", 5, "B"),
            event("a", "update", "leases", 9, "A"),
            event("a", "patch", "x", 11),
        ],
        0,
    ),
    "the server refused it": ([event("a", "patch", "x", 3, responseStatus={"code": 409})], 0),
    "a webhook counts a slot": ([event("w", "patch", "tierledgers", 3, user=WEBHOOK)], 0),
    "a webhook that does not lead removes a ledger": ([event("w", "delete", "tierledgers", 3, user=WEBHOOK)], 1),
}


@pytest.mark.parametrize(("events", "late"), LATE.values(), ids=LATE.keys())
def test_a_write_without_the_lease_is_found_in_the_audit_log(
    tmp_path: Path, events: list[dict[str, Any]], late: int
) -> None:
    """A write that came after another had the lease, or after it was given back, or before it was had."""
    log = tmp_path / "audit.jsonl"
    log.write_text("".join(json.dumps(each) + "\n" for each in events))
    audit = Audit(log)
    audit.read()
    assert len(audit.late()) == late


def test_admissions_are_counted_where_a_webhook_answered(tmp_path: Path) -> None:
    """Pods created without an answer are counted apart; a line that is being written waits."""
    called = {"mutation.webhook.admission.k8s.io/round_0_index_0": "{}"}
    missed = {"failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "{}"}
    events = [event("c", "create", "pods", 1, annotations=each, user=WEBHOOK) for each in (called, called, missed, {})]
    log = tmp_path / "audit.jsonl"
    log.write_text("".join(json.dumps(each) + "\n" for each in events)[:-9])
    audit = Audit(log)
    audit.read()
    assert (audit.admitted, audit.unserved) == (2, 1)
    log.write_text("".join(json.dumps(each) + "\n" for each in events))
    audit.read()
    assert (audit.admitted, audit.unserved) == (2, 2)


def test_the_clock_of_one_process_can_be_stepped(tmp_path: Path) -> None:
    """Its wall clock is off by as much as the file says; nobody else's is."""
    clock = tmp_path / "clock"
    set_clock(clock, -1e9)
    asked = "import sys, time; from pathlib import Path; from tests.campaign import stepped; before = time.time();"
    asked += "stepped.shift(Path(sys.argv[1])); print(round(time.time() - before, -6))"
    answer = subprocess.run([sys.executable, "-c", asked, clock], check=True, capture_output=True, text=True).stdout
    assert float(answer) == -1e9
