"""Gangs at random, many of them: at every quiet point none is half started, and shares are near.

`FAIRLEAD_GANG_PODS` is how many pods come in all, 10,000 if nothing else is said; `FAIRLEAD_GANG_KILLS` how often the
scheduler is killed while it binds a gang, 50.
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tools.controlplane.api import Api

from tests.cluster import volcano
from tests.cluster.test_gangs import kill_in_the_middle
from tests.cluster.test_scheduler import scheduler

ROOT = Path(__file__).parents[2]
QUEUES, NAMESPACES = 20, 200
STILL = 3.0
"""Seconds without a change that make a quiet point."""
PODS = int(os.environ.get("FAIRLEAD_GANG_PODS", "10000"))


@contextmanager
def many_queues(api: Api, count: int, random: Random) -> Iterator[list[str]]:
    """Queues of different weights."""
    names = {f"proof-{number}": {"weight": random.choice((1, 1, 2, 4))} for number in range(count)}
    with volcano.queues(api, **names):
        yield list(names)


def everything(api: Api, spaces: list[str]) -> tuple[dict[tuple[str, str], Counter[str]], dict[tuple[str, str], Any]]:
    """Pods of each gang by state (bound, waiting), and the gangs."""
    states: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    mine = set(spaces)
    for pod in api.items("/api/v1/pods"):
        space, group = pod["metadata"]["namespace"], pod["metadata"].get("annotations", {}).get(volcano.GROUP)
        if space in mine and group and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            states[space, group]["bound" if pod["spec"].get("nodeName") else "waiting"] += 1
    found = api.items("/apis/scheduling.volcano.sh/v1beta1/podgroups")
    groups = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in found}
    return states, groups


def quiet(api: Api, spaces: list[str]) -> dict[tuple[str, str], Counter[str]]:
    """Wait until nothing has changed for a while and no gang is being started; then what there is."""
    last: dict[tuple[str, str], Counter[str]] = {}
    since = [time.monotonic()]

    def rests() -> bool:
        states, groups = everything(api, spaces)
        busy = any(volcano.INTENT in each["metadata"].get("annotations", {}) for each in groups.values())
        begun = not states or any(counts["bound"] for counts in states.values())
        if busy or not begun or states != last:
            since[0] = time.monotonic()
            last.clear()
            last.update(states)
        return time.monotonic() - since[0] > STILL

    api.wait("a quiet point", rests, seconds=900)
    return last


def distances(api: Api, states: dict[tuple[str, str], Counter[str]], whole: int) -> Fraction:
    """The largest part of the whole by which a queue differs from its share by weight, no more than it asks for."""
    weights = {each["metadata"]["name"]: each["spec"].get("weight", 1) for each in api.items(volcano.QUEUES)}
    held: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    groups = api.items("/apis/scheduling.volcano.sh/v1beta1/podgroups")
    queue_of = {(each["metadata"]["namespace"], each["metadata"]["name"]): each["spec"]["queue"] for each in groups}
    for key, counts in states.items():
        held[queue_of[key]] += counts["bound"]
        asked[queue_of[key]] += counts.total()
    fair = {queue: Fraction(0) for queue in asked}
    left, open_ = Fraction(whole), set(asked)
    while open_ and left > 0:
        each = left / sum(weights[queue] for queue in open_)
        full = {queue for queue in open_ if asked[queue] - fair[queue] <= each * weights[queue]}
        for queue in full or open_:
            more = min(each * weights[queue], asked[queue] - fair[queue])
            fair[queue] += more
            left -= more
        if not full:
            break
        open_ -= full
    return max((abs(held[queue] - fair[queue]) / whole for queue in asked), default=Fraction(0))


def churn(api: Api, spaces: list[str], queues: list[str], pods: int, random: Random, cpus: int) -> dict[str, Any]:
    """Gangs come and end at random until so many pods have come; what was seen at the quiet points."""
    smallest, largest = (10, 500) if pods >= 5000 else (2, max(8, pods // 20))
    made, number, rounds = 0, 0, 0
    seen: list[Fraction] = []
    half = 0
    alive: list[tuple[str, str]] = []
    while made < pods:
        arrivals = min(pods - made, max(largest, pods // 10))
        while arrivals > 0:
            size = min(random.randint(smallest, largest), max(smallest, arrivals))
            space, name = random.choice(spaces), f"gang-{number}"
            number += 1
            least = size if random.random() < 0.7 else max(1, size // 2)
            volcano.make_gang(api, space, name, size, least, queue=random.choice(queues))
            alive.append((space, name))
            made, arrivals = made + size, arrivals - size
        random.shuffle(alive)
        ends = len(alive) // 3
        for space, name in alive[:ends]:
            api.delete(f"/api/v1/namespaces/{space}/pods", labelSelector=f"group={name}", gracePeriodSeconds=0)
            api.delete(f"{volcano.groups_path(space)}/{name}")
        alive = alive[ends:]
        states = quiet(api, spaces)
        least_of = {
            (each["metadata"]["namespace"], each["metadata"]["name"]): each["spec"]["minMember"]
            for each in api.items("/apis/scheduling.volcano.sh/v1beta1/podgroups")
        }
        half += sum(0 < counts["bound"] < least_of[key] for key, counts in states.items())
        seen.append(distances(api, states, cpus))
        rounds += 1
    return {"pods": made, "gangs": number, "rounds": rounds, "half": half, "distances": seen}


def run(api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], pods: int) -> dict[str, Any]:
    """The whole proof at one size."""
    volcano.install(api)
    random = Random(11)
    scale = min(1.0, pods / 10_000)
    spaces = [f"{namespace[:30].strip('-')}-{number}" for number in range(max(4, int(NAMESPACES * scale)))]
    # About half of what is asked for at a time finds room.
    nodes = max(2, int(60 * scale))
    kwok_nodes(nodes, cpu="20")
    with (
        many_queues(api, max(3, int(QUEUES * scale)), random) as queues,
        volcano.namespaces(api, *spaces),
        scheduler(kubeconfig, "--no-leader-election", "--no-events"),
    ):
        for space in spaces[::3]:
            volcano.weigh(api, space, random.choice((2, 3, 5)))
        start = time.monotonic()
        found = churn(api, spaces, queues, pods, random, nodes * 20)
        found |= {"seconds": time.monotonic() - start, "queues": len(queues), "namespaces": len(spaces), "nodes": nodes}
    return found


def record(line: str) -> None:
    """One line of today's proof."""
    page = ROOT / "docs" / "proof" / f"{time.strftime('%Y-%m-%d')}-fairness.md"
    if not page.exists():
        page.write_text("# Fairness on a cluster, proven\n\nWritten by `make proof`, on a machine of two cores.\n\n")
    with page.open("a") as file:
        file.write(f"- {line}\n")


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_ten_thousand_pods_in_gangs_at_random(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Random arrivals and ends: no gang half started at any quiet point; the distances are written down."""
    found = run(api, kubeconfig, namespace, kwok_nodes, PODS)
    assert found["half"] == 0
    assert found["pods"] >= PODS
    curve = "".join("▁▂▃▄▅▆▇█"[min(7, int(each * 40))] for each in found["distances"])
    record(
        f"{found['pods']} pods in {found['gangs']} gangs, {found['queues']} queues, {found['namespaces']} namespaces, "
        f"{found['nodes']} nodes of 20 cpu, {found['seconds']:.0f} s: {found['half']} gangs half started at "
        f"{found['rounds']} quiet points; the largest distance of a queue from its share by weight at each "
        f"(▁ below 2.5 % of the cluster, █ 17.5 % and more): `{curve}`"
    )


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_fifty_kills_between_the_first_and_the_last_bind(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Each time the next instance completes the gang."""
    volcano.install(api)
    kwok_nodes(10, cpu="16")
    midway, kills = 0, int(os.environ.get("FAIRLEAD_GANG_KILLS", "50"))
    for number in range(kills):
        volcano.make_gang(api, namespace, f"gang{number}", 150)
        midway += kill_in_the_middle(api, kubeconfig, namespace, f"gang{number}", 150)
        volcano.empty(api, namespace)
    record(f"{kills} kills while a gang of 150 was being bound, {midway} of them midway: all 150 were bound each time")
    assert midway
