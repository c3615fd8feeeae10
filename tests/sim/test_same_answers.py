"""The same scenario gives the same answer to the last digit, whatever is done for speed: digests recorded once.

A digest changes only with a decision about behaviour, which has a page in docs/decisions;
`python -m tests.sim.test_same_answers` prints the digests of today.
"""

from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import run
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story
from fairlead.text.documents import Document, documents

EXAMPLES = Path(__file__).parents[2] / "examples"
POLICIES = {
    "fair": SimPolicy(name="p"),
    "fifo": SimPolicy(name="p", fair=False),
    "greedy": SimPolicy(name="p", strategy="global-greedy"),
    "packed": SimPolicy(name="p", strategy="bin-pack", tiers=False),
}
SEEDS = range(6)


def random_scenario(seed: int) -> dict[str, Any]:
    """A small cluster that is too full now and then: tiers, gangs, queues, spread, scales and outages."""
    draw = Random(seed)
    nodes = [
        {
            "name": "od",
            "count": draw.randint(2, 5),
            "cpu": 4,
            "memory": "16Gi",
            "tier": "on-demand",
            "zones": ["a", "b"],
        },
        {"name": "s", "count": draw.randint(2, 6), "cpu": draw.choice([3, 8]), "memory": "16Gi", "tier": "spot"},
    ]
    generate = [
        {
            "name": f"g{number}",
            "arrivals": draw.randint(20, 60),
            "replicas": [1, draw.randint(1, 6)],
            "cpu": ["500m", "1", "2"],
            "memory": ["1Gi", "1Gi", "4Gi"],
            "duration": draw.choice(["5m", "20m"]),
            "namespaces": {"a": 1, "b": 2, "c": 1},
            "queues": {"": 1, "q": 1},
            "gang": draw.random() < 0.4,
            "priority": draw.randint(0, 1),
            "tier": draw.choice(["", "", "spot", "1", "50%"]),
        }
        for number in range(3)
    ]
    workloads = [{"name": "w", "replicas": 4, "cpu": 1, "memory": "1Gi", "spread": "zone", "namespace": "a"}]
    events = [
        {"at": "15m", "fail": {"labels": {"zone": "a"}}, "back": "5m"},
        {"at": "30m", "scale": "a/w", "replicas": 9},
        {"at": "45m", "scale": "a/w", "replicas": 2},
    ]
    return {
        "name": f"random {seed}",
        "seed": seed,
        "until": "2h",
        "cycle": "10s",
        "nodes": nodes,
        "namespaces": {"a": 3, "b": 2},
        "queues": [{"name": "q", "weight": 2, "capability": {"cpu": draw.randint(4, 20)}}],
        "generate": generate,
        "workloads": workloads,
        "events": events,
        "lives": [{"tier": "spot", "meanLife": "1h", "back": "5m"}],
    }


def digest(scenario: dict[str, Any], policy: SimPolicy) -> str:
    """A few digits that stand for everything a run says."""
    made = run(story(scenario_of(scenario)), policy)
    return sha256(repr((made.record, asdict(made.series))).encode()).hexdigest()[:12]


def scenarios() -> dict[str, dict[str, Any]]:
    """Those of the examples, and random ones."""
    written = {name: _read(EXAMPLES / name / "scenario.yaml") for name in ("spot-wave", "gpu-queue")}
    return written | {f"random {seed}": random_scenario(seed) for seed in SEEDS}


def _read(path: Path) -> dict[str, Any]:
    (document,) = documents(path.read_bytes(), path.name)
    assert isinstance(document, Document)
    return document.value


WANT = {
    "spot-wave": {"fair": "b6bb4a0bd378", "fifo": "1eb486697b98", "greedy": "b27f1dca9729", "packed": "bbdd66a0a029"},
    "gpu-queue": {"fair": "42149913e6d3", "fifo": "01535d1cda7c", "greedy": "b79f3904b262", "packed": "8814d087a9a9"},
    "random 0": {"fair": "c523af5da3c3", "fifo": "95a38bfa612b", "greedy": "842b17e41425", "packed": "6dbd7feedc69"},
    "random 1": {"fair": "f06111194635", "fifo": "a952e8e1a060", "greedy": "f06111194635", "packed": "1628285180c0"},
    "random 2": {"fair": "f957bfc66838", "fifo": "ff418c1830a4", "greedy": "0bfcdb53df5a", "packed": "b63d82f5c7b8"},
    "random 3": {"fair": "650fae7bc0b1", "fifo": "29384dc179ef", "greedy": "0a9e6768f2da", "packed": "0128093dff81"},
    "random 4": {"fair": "e881cb4b5d2b", "fifo": "d3bf3be558ff", "greedy": "8c6f85292663", "packed": "8a84e683a76b"},
    "random 5": {"fair": "12190d77176b", "fifo": "d6bdfdac4507", "greedy": "d966de8edd76", "packed": "4af951c70b6e"},
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", scenarios())
def test_the_same_scenario_gives_the_same_answer(name: str, policy: str) -> None:
    """Record and series of every policy on every scenario are those that were recorded."""
    assert digest(scenarios()[name], POLICIES[policy]) == WANT[name][policy]


if __name__ == "__main__":
    for each, scenario in scenarios().items():
        print(f"    {each!r}: { ({policy: digest(scenario, POLICIES[policy]) for policy in POLICIES})!r},")
