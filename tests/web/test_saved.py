"""The page as one file, and the history that is kept while a page is served."""

import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from fairlead.model.errors import InputError
from fairlead.web.assets import SCRIPT, asset
from fairlead.web.evictions import SeenEviction
from fairlead.web.history import CHANGES, EVICTIONS, SAMPLES, WORKLOADS, History
from fairlead.web.saved import saved
from fairlead.web.serve import address
from tests.web.looks import ROOT, deployment, node

SCENARIO = str(ROOT / "examples" / "gpu-queue" / "scenario.yaml")


def records(text: str) -> dict[str, dict[str, object]]:
    """The records inside a saved file."""
    found = re.search(r'<script type="application/json" id="records">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    result: dict[str, dict[str, object]] = json.loads(found[1])
    return result


def test_text_in_records_cannot_leave_its_element(built: Path) -> None:
    """A name with HTML in it stays a text; the script's own end tag does too."""
    text = saved("<b>title</b>", {"overview": {"title": "</script><script>alert(1)</script>"}})
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "&lt;b&gt;title" in text
    assert records(text)["overview"]["title"] == "</script><script>alert(1)</script>"
    assert "default-src 'none'; script-src 'sha256-" in text


def test_plan_html_has_every_view_and_path(tmp_path: Path, built: Path) -> None:
    """One file, with the plan of the options that were given."""
    (tmp_path / "all.yaml").write_text(node("n1") + deployment("web", 2))
    target = tmp_path / "plan.html"
    words = ["plan", "-f", str(tmp_path / "all.yaml"), "--html", str(target), "-o", "json"]
    assert cli.main(words, standalone_mode=False) == 0
    found = records(target.read_text())
    assert {"about", "overview", "map", "queues", "waiting", "fleet", "tiers", "disks", "plan", "paths"} <= set(found)
    assert list(found["paths"]) == ["Deployment/shop/web"]


def test_simulate_html_has_the_series_of_every_resource(tmp_path: Path, built: Path) -> None:
    """The GPUs of the example among them."""
    target = tmp_path / "report.html"
    cli.main(["simulate", SCENARIO, "--until", "1h", "--html", str(target), "-o", "json"], standalone_mode=False)
    policies = records(target.read_text())["simulation"]["policies"]
    assert isinstance(policies, list)
    assert len(policies[0]["series"]["resources"]["nvidia.com/gpu"]) == 240
    assert policies[0]["jobs"][0]["spans"]


def test_html_without_a_built_page_says_what_is_missing(tmp_path: Path, unbuilt: None) -> None:
    """The command's other output does not depend on it."""
    with pytest.raises(InputError, match="make page"):
        asset(SCRIPT)
    done = CliRunner().invoke(cli, ["ui", "-f", str(tmp_path)])
    assert isinstance(done.exception, InputError)


def test_html_to_a_place_that_is_not_there_is_bad_input(built: Path) -> None:
    """With the place."""
    with pytest.raises(InputError, match=r"/nowhere/report\.html"):
        cli.main(["simulate", SCENARIO, "--until", "1m", "--html", "/nowhere/report.html"], standalone_mode=False)


USAGE = {
    "no source": [],
    "two sources": ["-f", ".", "--cluster"],
    "a policy without a scenario": ["-f", ".", "--policy", "communism"],
}


@pytest.mark.parametrize("name", USAGE)
def test_one_source_is_expected(name: str, built: Path) -> None:
    """Else it is a usage error."""
    assert CliRunner().invoke(cli, ["ui", *USAGE[name]]).exit_code == 2


def test_addresses_off_the_loopback_need_a_token() -> None:
    """On it, none is needed."""
    assert address("127.0.0.1:0", "").loopback
    assert address("[::1]:80", "").host == "::1"
    assert not address("0.0.0.0:80", "secret").loopback
    for bad in ("0.0.0.0:80", "example.org:80", "localhost", "localhost:x", ":80"):
        with pytest.raises(InputError):
            address(bad, "")


def test_history_is_bounded_and_tells_what_changed() -> None:
    """A workload that comes, changes and goes is told three times; spans last while nothing changes."""
    history = History()
    nothing = {"replicas": {}, "waiting": {}}

    def row(running: int, waiting: int) -> dict[str, object]:
        return {
            "workload": "Job/a/b",
            "title": "a/b",
            "gang": "",
            "replicas": running + waiting,
            "running": running,
            "placed": 0,
            "waiting": waiting,
        }

    other = {**row(1, 0), "workload": "Job/a/other", "title": "a/other"}
    for second, rows in enumerate([[other], [other, row(0, 2)], [other, row(0, 2)], [other, row(2, 0)], [other]]):
        history.add(float(second), nothing, rows)
        if second == 3:
            assert history.record()["spans"]["Job/a/b"] == [[1.0, 0, 0, 2], [3.0, 2, 0, 0]]
    changes = [(each["time"], each["kind"], each["title"]) for each in history.record()["changes"]]
    assert changes == [(1.0, "new", "a/b"), (3.0, "changed", "a/b"), (4.0, "gone", "a/b")]
    assert history.record()["spans"]["Job/a/b"][-1] == [4.0, 0, 0, 0]
    for second in range(2 * SAMPLES):
        history.add(float(second), nothing, [other, row(second, 0)])
    assert len(history.record()["samples"]) == SAMPLES
    assert len(history.record()["changes"]) == CHANGES


def job(name: str, running: int, gang: str = "") -> dict[str, object]:
    """A row of the view `workloads`."""
    counts = {"replicas": running, "running": running, "placed": 1, "waiting": 2}
    return {"workload": f"Pod/a/{name}", "title": f"a/{name}", "gang": gang, **counts}


def test_history_may_grow_while_its_record_is_made() -> None:
    """The record is made in a thread; a job comes just when the spans of another are copied."""
    history = History()

    class Busy(deque[list[Any]]):
        def __iter__(self) -> Iterator[list[Any]]:
            history._spans["Job/a/new"] = deque()
            return super().__iter__()

    history._spans |= {"Job/a/b": Busy([[1.0, 0, 0, 2]]), "Job/a/c": deque()}
    assert history.record()["spans"] == {"Job/a/b": [[1.0, 0, 0, 2]], "Job/a/c": []}


def test_history_follows_a_gang_as_one_job() -> None:
    """Its members are added up; another workload is followed by itself."""
    history = History()
    history.add(
        1.0, {"replicas": {}, "waiting": {}}, [job("x", 3, "PodGroup/a/g"), job("y", 4, "PodGroup/a/g"), job("z", 5)]
    )
    assert history.record()["spans"] == {"PodGroup/a/g": [[1.0, 7, 2, 4]], "Pod/a/z": [[1.0, 5, 1, 2]]}


def test_history_forgets_jobs_that_are_gone_first() -> None:
    """There is room for so many; a job that runs is not dropped for a new one."""
    history, nothing = History(), {"replicas": {}, "waiting": {}}
    history.add(1.0, nothing, [job("gone", 1), *(job(f"n{number}", 1) for number in range(WORKLOADS - 1))])
    rest = [job(f"n{number}", 1) for number in range(WORKLOADS - 1)]
    history.add(2.0, nothing, rest)
    assert "Pod/a/gone" in history.record()["spans"]
    history.add(3.0, nothing, [*rest, job("new", 1), job("late", 1)])
    spans = history.record()["spans"]
    assert (len(spans), "Pod/a/gone" in spans, "Pod/a/new" in spans, "Pod/a/late" in spans) == (
        WORKLOADS,
        False,
        True,
        False,
    )


def test_history_tells_evictions_by_whom_for_whom() -> None:
    """Pods of a job that go for the same one together are one entry; a refused eviction is taken back."""
    history = History()
    first = SeenEviction(job="PodGroup/a/g", by="Fairlead's scheduler", beneficiary="PodGroup/b/h")
    other = SeenEviction(job="PodGroup/a/g", by="kube-scheduler", beneficiary="")
    for now, seen in ((1.0, first), (1.5, other), (2.9, first), (6.0, first)):
        history.evicted(now, seen)
    told = [(each["time"], each["count"], each["by"], each["for"]) for each in history.record()["evictions"]]
    fairleads = ("Fairlead's scheduler", "PodGroup/b/h")
    assert told == [(1.0, 2, *fairleads), (1.5, 1, "kube-scheduler", ""), (6.0, 1, *fairleads)]
    for seen in (first, other, first):
        history.spared(seen)
    assert [(each["time"], each["count"]) for each in history.record()["evictions"]] == [(1.0, 1)]
    history.spared(other)
    for number in range(2 * EVICTIONS):
        history.evicted(10.0 * number, first)
    assert len(history.record()["evictions"]) == EVICTIONS
