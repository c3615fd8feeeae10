"""Scenarios, policies and traces as users write them: what is read, and what is refused with its place."""

from typing import Any

import pytest

from fairlead.model.errors import InputError
from fairlead.sim.durations import milliseconds, span_text
from fairlead.sim.policy import named, policy_of
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story
from fairlead.sim.trace import MOST_BAD, read_trace
from tests.sim.stories import NODES, told, workload

SPANS: dict[int | float | str, int] = {
    90: 90_000, 1.5: 1500, "90": 90_000, "250ms": 250, "90s": 90_000, "5m": 300_000, "1.5h": 5_400_000,
    "2d": 172_800_000,
}  # fmt: skip


@pytest.mark.parametrize("written", SPANS)
def test_span_is_read_in_milliseconds(written: int | float | str) -> None:
    """Numbers are seconds, texts carry their unit."""
    assert milliseconds(written, "$") == SPANS[written]


@pytest.mark.parametrize("written", ["", "-5s", "5 m", "1e3", "5w", True, "500d", float("nan"), float("inf"), "٣s"])
def test_span_that_is_none_is_refused(written: Any) -> None:
    """With the path."""
    with pytest.raises(InputError, match=r"^\$\.at: "):
        milliseconds(written, "$.at")


def test_span_as_text_is_short() -> None:
    """Seconds, minutes, hours."""
    assert [span_text(ms) for ms in (0, 44_600, 750_000, 3_599_000, 3_600_000, 11_100_000)] == [
        "0s", "45s", "12m 30s", "59m 59s", "1h 00m", "3h 05m",
    ]  # fmt: skip


BAD_SCENARIOS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"nodez": []}, "nodez"),
    "unknown field inside": ({"workloads": [workload("a", 1, size=3)]}, r"\$\.workloads\[0\]"),
    "wrong type": ({"seed": "one"}, r"\$\.seed"),
    "negative replicas": ({"workloads": [workload("a", -1)]}, r"\$\.workloads\[0\]\.replicas"),
    "bad quantity": ({"workloads": [workload("a", 1, cpu="many")]}, r"\$\.workloads\[0\]\.cpu"),
    "bad tier": ({"workloads": [workload("a", 1, tier="cheap")]}, r"\$\.workloads\[0\]\.tier"),
    "times without every": ({"workloads": [workload("a", 1, times=3)]}, r"\$\.workloads\[0\]\.every"),
    "no nodes": ({"nodes": []}, r"\$\.nodes"),
    "same name twice": ({"nodes": [*NODES, *NODES]}, r"\$\.nodes"),
    "nothing arrives": ({"workloads": []}, "nothing ever arrives"),
    "event without a cause": ({"events": [{"at": 5}]}, r"\$\.events\[0\]"),
    "event with two": ({"events": [{"at": 5, "finish": "default/a", "fail": {}}]}, r"\$\.events\[0\]"),
    "unknown workload": ({"events": [{"at": 5, "finish": "default/x"}]}, r"\$\.events\[0\]\.finish"),
    "scale to nowhere": ({"events": [{"at": 5, "scale": "default/a"}]}, r"\$\.events\[0\]\.replicas"),
    "unknown node": ({"events": [{"at": 5, "fail": {"nodes": ["x"]}}]}, r"\$\.events\[0\]\.nodes"),
    "no spot node": ({"events": [{"at": 5, "interrupt": {}}]}, "no node matches"),
    "unknown label": ({"events": [{"at": 5, "fail": {"labels": {"zone": "a"}}}]}, "no node matches"),
    "scale of nothing": ({"events": [{"at": 5, "scale": "", "replicas": 1}]}, r"\$\.events\[0\]\.scale"),
    "return of a workload": (
        {"events": [{"at": 5, "scale": "default/a", "replicas": 1, "back": "1m"}]},
        r"\$\.events\[0\]\.back",
    ),
    "replicas of a node": ({"events": [{"at": 5, "fail": {}, "replicas": 1}]}, r"\$\.events\[0\]\.replicas"),
    "same queue twice": ({"queues": [{"name": "q"}, {"name": "q", "weight": 3}]}, r"\$\.queues\[1\]\.name"),
    "bad share": ({"events": [{"at": 5, "fail": {"share": "half"}}]}, r"\$\.events\[0\]\.share"),
    "lists of different length": (
        {"generate": [{"name": "g", "arrivals": 3, "cpu": ["1", "2"], "memory": ["1Gi"]}]},
        r"\$\.generate\[0\]\.memory",
    ),
    "range upside down": (
        {"generate": [{"name": "g", "arrivals": 3, "replicas": [5, 2]}]},
        r"\$\.generate\[0\]\.replicas",
    ),
    "range of three": (
        {"generate": [{"name": "g", "arrivals": 3, "replicas": [1, 2, 3]}]},
        r"\$\.generate\[0\]\.replicas",
    ),
    "no sizes": ({"generate": [{"name": "g", "arrivals": 3, "cpu": [], "memory": []}]}, r"\$\.generate\[0\]\.cpu"),
}


@pytest.mark.parametrize("name", BAD_SCENARIOS)
def test_bad_scenario_is_told_with_its_place(name: str) -> None:
    """Every mistake names its path."""
    fields, place = BAD_SCENARIOS[name]
    with pytest.raises(InputError, match=place):
        told(**{"workloads": [workload("a", 1)], **fields})


def test_repeated_workload_arrives_on_time_under_names_of_its_own() -> None:
    """Three times, every ten minutes."""
    arrivals = told(workloads=[workload("a", 1, at="1m", every="10m", times=3)]).arrivals
    assert [(each.at_ms // 60_000, each.workload.name) for each in arrivals] == [(1, "a-1"), (11, "a-2"), (21, "a-3")]


def test_generator_keeps_to_its_bounds() -> None:
    """Times within the window, replicas within the range, sizes in pairs, every namespace drawn."""
    written = {
        "name": "g", "arrivals": 500, "at": "10m", "over": "20m", "replicas": [2, 5], "duration": "2m",
        "cpu": ["1", "2"], "memory": ["1Gi", "2Gi"], "namespaces": {"a": 1, "b": 3}, "gang": True,
    }  # fmt: skip
    arrivals = told(generate=[written]).arrivals
    assert {each.workload.replicas for each in arrivals} == {2, 3, 4, 5}
    assert all(600_000 <= each.at_ms < 1_800_000 for each in arrivals)
    assert all(each.workload.least_together == each.workload.replicas for each in arrivals)
    pairs = {
        (dict(each.workload.shape.request)["cpu"], dict(each.workload.shape.request)["memory"]) for each in arrivals
    }
    assert pairs == {(1000, 2**30), (2000, 2**31)}
    mine = sum(each.workload.namespace == "b" for each in arrivals)
    assert 330 <= mine <= 420  # three in four; five deviations
    durations = [each.duration_ms or 0 for each in arrivals]
    assert 95_000 < sum(durations) / len(durations) < 145_000


def test_generated_numbers_are_pinned() -> None:
    """The same bits on every machine: these were drawn once and must never change."""
    arrivals = told(generate=[{"name": "g", "arrivals": 4, "replicas": [1, 9]}]).arrivals
    assert [(each.at_ms, each.workload.replicas, each.duration_ms) for each in arrivals] == PINNED


PINNED = [(1014000, 2, 1599000), (2542000, 1, 1353000), (1613000, 9, 771000), (1775000, 6, 528000)]


def test_share_of_nodes_is_rounded_up_and_drawn_by_the_seed() -> None:
    """Half of five is three; another seed takes others."""

    def lost(seed: int) -> tuple[int, ...]:
        nodes = [{"name": "s", "count": 40, "cpu": 1, "memory": "1Gi", "tier": "spot"}]
        event = {"at": 5, "interrupt": {"share": "51%"}}
        return told(seed=seed, nodes=nodes, workloads=[workload("a", 1)], events=[event]).outages[0].rows

    assert len(lost(1)) == 21
    assert lost(1) == lost(1) != lost(2)


def test_end_and_seed_can_be_given_from_outside() -> None:
    """As the command line does."""
    written = scenario_of({"nodes": NODES, "workloads": [workload("a", 1)]})
    changed = story(written, seed=9, until_ms=5000)
    assert (changed.seed, changed.until_ms) == (9, 5000)


def test_policy_files_and_names() -> None:
    """Names are strategies; files may change the queue and the tiers."""
    assert named("no-such") is None
    first = named("first-fit")
    assert first is not None
    assert (first.strategy, first.fair, first.tiers) == ("first-fit", True, True)
    written = policy_of({"strategy": "bin-pack", "queue": "fifo", "tiers": False}, "mine")
    assert (written.name, written.strategy, written.fair, written.tiers) == ("mine", "bin-pack", False, False)


@pytest.mark.parametrize(
    ("written", "place"), [({"strategy": "best"}, r"\$\.strategy"), ({"queue": "lifo"}, r"\$\.queue"), ({"x": 1}, "x")]
)
def test_bad_policy_is_told_with_its_place(written: dict[str, Any], place: str) -> None:
    """Every mistake names its path."""
    with pytest.raises(InputError, match=place):
        policy_of(written, "mine")


TRACE = """time,workload,replicas,cpu,memory,duration,namespace,queue,tier
0,web,3,500m,1Gi,,shop,,50%

90,etl,2,2,4Gi,10m,data,batch,spot
1.5h,solo,,,,,,,on-demand
"""


def test_trace_is_read_column_by_column() -> None:
    """Empty cells have their defaults, empty lines are skipped."""
    arrivals, errors = read_trace(TRACE.encode(), "day.csv")
    web, etl, solo = arrivals
    assert errors == []
    assert (web.workload.title, web.workload.replicas, web.workload.min_available, web.duration_ms) == (
        "shop/web", 3, "50%", None,
    )  # fmt: skip
    assert dict(web.workload.shape.request) == {"cpu": 500, "memory": 2**30, "pods": 1}
    assert (etl.at_ms, etl.duration_ms, etl.workload.queue, etl.tier) == (90_000, 600_000, "batch", "spot")
    assert (solo.at_ms, solo.workload.replicas, solo.workload.namespace, solo.tier) == (
        5_400_000,
        1,
        "default",
        "on-demand",
    )


BAD_LINES = {
    "x,web,1": "day.csv:2: time",
    "0,,1": "day.csv:2: workload",
    "0,web,many": "day.csv:2: replicas",
    "0,web,-1": "day.csv:2: replicas",
    "0,web": "day.csv:2: 2 cells",
    "0,web,1,2": "day.csv:2: 4 cells",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_line_of_a_trace_is_named(line: str) -> None:
    """With its number; the others are read."""
    arrivals, errors = read_trace(f"time,workload,replicas\n{line}\n5,ok,1\n".encode(), "day.csv")
    assert [str(error).startswith(BAD_LINES[line]) for error in errors] == [True]
    assert [each.workload.name for each in arrivals] == ["ok"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "is empty"),
        ("time,workload,colour\n", "unknown column 'colour'"),
        ("time,replicas\n", "'workload' is missing"),
        ("time,workload,time\n", "there twice"),
        ('time,workload\n0,"a\n', "is not CSV"),
    ],
)
def test_trace_without_usable_columns_is_refused(text: str, place: str) -> None:
    """One error for the whole."""
    with pytest.raises(InputError, match=place):
        read_trace(text.encode(), "day.csv")


def test_trace_that_is_not_text_or_all_bad_is_told_briefly() -> None:
    """Bytes that are not UTF-8; after twenty bad lines the rest is not read."""
    with pytest.raises(InputError, match="UTF-8"):
        read_trace(b"\xff\xfe", "day.csv")
    _, errors = read_trace(b"time,workload\n" + b"x,a\n" * 100, "day.csv")
    assert len(errors) == MOST_BAD + 1
