"""Gangs at random, more than there is room for, with evictions: none is half started, and nobody goes in circles.

`FAIRLEAD_GANG_PODS` is how many pods come in all, 10,000 if nothing else is said; `FAIRLEAD_GANG_KILLS` how often the
scheduler is killed while it binds a gang, 50.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tools.controlplane.api import Api

from fairlead.sim.chart import Line, chart
from fairlead.sim.page import STYLE
from tests.cluster import volcano
from tests.cluster.gangs import Evicted, Gang, Key, Land, Sight, cases, distances, evictions, standing
from tests.cluster.test_fairness import CLASSES, Running, running
from tests.cluster.test_gangs import kill_in_the_middle

ROOT = Path(__file__).parents[2]
STILL = 12.0
"""Seconds without a change that make a quiet point: longer than the scheduler waits before it looks again."""
LOOK = 1.0
"""Seconds between two looks."""
QUIET_SECONDS = 900
ROUNDS = 6
"""Quiet points at the least."""
CPUS = 20
PER_MINUTE = 2000
"""The budget of evictions: a few gangs of the largest kind a minute."""
PODS = int(os.environ.get("FAIRLEAD_GANG_PODS", "10000"))
PAGE = ROOT / "docs" / "proof"


@dataclass(slots=True)
class Story:
    """What was seen."""

    pods: int = 0
    gangs: int = 0
    seconds: float = 0.0
    steps: int = 0
    """Settled allocations that differed from the one before them in the same interval."""
    evicted: list[Evicted] = field(default_factory=list)
    most_cases: int = 0
    """The most often that one gang lost pods in an interval."""
    asked: list[float] = field(default_factory=list)
    """By quiet point: what is asked for as a part of the whole."""
    used: list[float] = field(default_factory=list)
    grain: list[float] = field(default_factory=list)
    """By quiet point: the largest gang there is as a part of the whole."""
    quiet: list[tuple[float, float, float]] = field(default_factory=list)
    """By quiet point: seconds since the start, the largest distance, the mean distance."""
    curve: list[tuple[float, float, float]] = field(default_factory=list)
    """The same at every look."""


class Proof:
    """Gangs that come and end at random, and what is checked whenever they have come to rest."""

    def __init__(self, api: Api, scheduler: Running, land: Land, sizes: tuple[int, int], priorities: Mapping[str, int]):
        self.api = api
        self.scheduler = scheduler
        self.land = land
        self.sizes = sizes
        self.priorities = priorities
        self.random = Random(11)
        self.alive: dict[Key, Gang] = {}
        self.story = Story()
        self.start = time.monotonic()
        self.read = 0
        """How many evictions of the log have been looked at."""

    def round(self, sight: Sight) -> None:
        """Some gangs end, others come, until 1.2 to 2 times as much is asked for as there is; then a quiet point."""
        random = self.random
        target = round(self.land.whole * random.uniform(1.2, 2.0))
        leaving = random.sample(sorted(self.alive), round(len(self.alive) * random.uniform(0.2, 0.5)))
        todo: list[Gang | Key] = list(leaving)
        asked = sum(gang.size for key, gang in self.alive.items() if key not in leaving)
        while asked < target:
            gang = self.next_gang()
            todo.append(gang)
            asked += gang.size
        random.shuffle(todo)
        for each in todo:
            if isinstance(each, Gang):
                self.begin(each)
            else:
                self.end(each)
        self.collect()
        sight.expect(self.alive.values())
        self.check(sight, [*self.quiet(sight), *self.collect()])

    def next_gang(self) -> Gang:
        """A gang of any size, small ones more often than large ones; a third of them are elastic, a fifth important."""
        random, (smallest, largest) = self.random, self.sizes
        size = round(smallest * (largest / smallest) ** random.random())
        self.story.gangs += 1
        return Gang(
            key=(random.choice(sorted(self.land.namespaces)), f"gang-{self.story.gangs}"),
            queue=random.choice(sorted(self.land.queues)),
            size=size,
            least=size if random.random() < 0.7 else max(1, size // 2),
            priority=random.choice((0, 0, 0, 0, *self.priorities.values())),
        )

    def begin(self, gang: Gang) -> None:
        """A PodGroup, and a ReplicaSet that creates its pods, and those anew that are evicted."""
        space, name = gang.key
        volcano.make_group(self.api, space, name, gang.least, queue=gang.queue)
        classes = {value: each for each, value in self.priorities.items()}
        pod = volcano.member(name, name, **({"priorityClassName": classes[gang.priority]} if gang.priority else {}))
        del pod["spec"]["terminationGracePeriodSeconds"]
        template = {
            "metadata": {each: pod["metadata"][each] for each in ("labels", "annotations")},
            "spec": pod["spec"],
        }
        spec = {"replicas": gang.size, "selector": {"matchLabels": {"group": name}}, "template": template}
        self.api.create(f"/apis/apps/v1/namespaces/{space}/replicasets", {"metadata": {"name": name}, "spec": spec})
        self.alive[gang.key] = gang
        self.story.pods += gang.size

    def end(self, key: Key) -> None:
        """The gang is over."""
        space, name = key
        self.api.delete(f"/apis/apps/v1/namespaces/{space}/replicasets/{name}", propagationPolicy="Background")
        self.api.delete(f"/api/v1/namespaces/{space}/pods", labelSelector=f"group={name}", gracePeriodSeconds=0)
        self.api.delete(f"{volcano.groups_path(space)}/{name}")
        del self.alive[key]

    def look(self, sight: Sight) -> tuple[float, float, float]:
        """Seconds since the start, the largest and the mean distance of the queues."""
        found = distances(self.alive.values(), sight.held(), self.land).values()
        return time.monotonic() - self.start, float(max(found)), float(sum(found) / len(found))

    def quiet(self, sight: Sight) -> list[Evicted]:
        """Wait until nothing changes any more and no gang is being started; who was evicted meanwhile.

        An eviction loop never gets there.
        """
        deadline = time.monotonic() + QUIET_SECONDS
        found: list[Evicted] = []
        while not (sight.rests(STILL) and not self.starting()):
            self.story.curve.append(self.look(sight))
            found += self.collect()
            if time.monotonic() > deadline:
                lately = [f"{each.victim} for {each.beneficiary}" for each in found[-5:]]
                pytest.fail(f"no quiet point: {sight.words()}; last evicted: {lately}")
            time.sleep(LOOK)
        return found

    def starting(self) -> bool:
        """Whether a gang is between its first and its last bind."""
        groups = self.api.items("/apis/scheduling.volcano.sh/v1beta1/podgroups")
        return any(volcano.INTENT in each["metadata"].get("annotations", {}) for each in groups)

    def collect(self) -> list[Evicted]:
        """Evictions that the log tells of since the last time. Each one made the allocation better."""
        found = list(evictions(self.scheduler.log))[self.read :]
        self.read += len(found)
        self.story.evicted += found
        for each in found:
            assert each.after > each.before, each
        return found

    def check(self, sight: Sight, evicted: list[Evicted]) -> None:
        """What has to hold at a quiet point, and on the way to it since the demand was settled."""
        story, gangs, held = self.story, self.alive.values(), sight.held()
        half = [(gang, held[gang.key]) for gang in gangs if 0 < held[gang.key] < gang.least]
        assert not half, half
        assert sight.fullest() <= CPUS
        # 1. every allocation on the way stood higher than the one before: none of them can come again
        ranks = [standing(gangs, Counter(allocation), self.land) for allocation in sight.seen]
        for number, (before, after) in enumerate(pairwise(ranks)):
            assert after > before, self.difference(sight.seen[number], sight.seen[number + 1])
        story.steps += len(ranks) - 1
        # 2. only who does not run evicts: so once, and once more each time after it lost pods itself
        turns = cases(evicted)
        made, lost = Counter(job for job, _ in turns), Counter(victim for _, victims in turns for victim in victims)
        assert all(count <= 1 + lost[job] for job, count in made.items()), turns
        # 3. nobody makes room for the same gang twice
        pairs = Counter((victim, job) for job, victims in turns for victim in victims)
        assert all(count == 1 for count in pairs.values()), turns
        story.most_cases = max(story.most_cases, *lost.values(), 0)
        story.quiet.append(self.look(sight))
        story.asked.append(sum(gang.size for gang in gangs) / self.land.whole)
        story.used.append(held.total() / self.land.whole)
        story.grain.append(max(gang.least for gang in gangs) / self.land.whole)

    def difference(self, before: Mapping[Key, int], after: Mapping[Key, int]) -> str:
        """What changed between two allocations that should not have followed each other."""
        changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        return f"an allocation that stands no higher came later: {changed}"


@contextmanager
def landscape(
    api: Api, namespace: str, kwok_nodes: Callable[..., list[str]], pods: int
) -> Iterator[tuple[Land, dict[str, int]]]:
    """Queues, namespaces and nodes for so many pods, and two priority classes."""
    random, scale = Random(7), min(1.0, pods / 10_000)
    volcano.install(api)
    nodes = max(10, round(150 * scale))
    kwok_nodes(nodes, cpu=str(CPUS))
    queues = {f"proof-{number}": random.choice((1, 1, 2, 4)) for number in range(max(6, round(20 * scale)))}
    stem = namespace[:30].strip("-")
    spaces = {f"{stem}-{number}": random.choice((1, 1, 2, 3, 5)) for number in range(max(20, round(200 * scale)))}
    priorities = {f"{stem}-high": 100}
    for name, value in priorities.items():
        api.create(CLASSES, {"metadata": {"name": name}, "value": value})
    try:
        with (
            volcano.queues(api, **{name: {"weight": weight} for name, weight in queues.items()}),
            volcano.namespaces(api, *spaces),
        ):
            for space, weight in spaces.items():
                if weight > 1:
                    volcano.weigh(api, space, weight)
            yield Land(queues=queues, namespaces=spaces, whole=nodes * CPUS), priorities
    finally:
        for name in priorities:
            api.delete(f"{CLASSES}/{name}")


def picture(story: Story, land: Land) -> str:
    """The distance over time and at the quiet points, beside the size of the largest gang, as an SVG."""
    hours = [seconds / 3600 for seconds, _, _ in story.curve]
    points = [(number, seconds) for number, (seconds, _, _) in enumerate(story.quiet)]

    def last(values: list[float]) -> list[float]:
        """At each look the value of the next quiet point."""
        return [next((values[n] for n, at in points if at >= hour * 3600), values[-1]) for hour in hours]

    lines = [
        Line(name="largest distance of a queue", values=[100 * value for _, value, _ in story.curve]),
        Line(name="at the quiet point that followed", values=last([100 * value for _, value, _ in story.quiet])),
        Line(name="mean distance of all queues", values=[100 * value for _, _, value in story.curve]),
        Line(name="largest gang", values=last([100 * value for value in story.grain])),
    ]
    end = max(story.quiet[-1][0], 60.0) / 3600
    drawn = chart(f"Distance from the fair share, in percent of {land.whole} cpu", hours, lines, end=end)
    # Above the lines, each as far from the one before as that is long.
    starts = [60 + sum(6 * len(line.name) + 14 for line in lines[:number]) for number in range(len(lines))]
    keys = "".join(
        f'<text x="{start}" y="-8" class="key{number}">{line.name}</text>'
        for number, (start, line) in enumerate(zip(starts, lines, strict=True))
    )
    colours = "".join(
        f".line.c{number} {{ stroke: var(--c{number}); }} svg .key{number} {{ fill: var(--c{number}); }}"
        for number in range(len(lines))
    )
    style = f"<style>{STYLE}{colours} svg {{ background: var(--ground); font-family: sans-serif; }}</style>"
    first, rest = drawn.split("\n", 1)
    first = first.replace('viewBox="0 0 720 220"', 'viewBox="0 -24 720 244"')
    return f"{first}\n{style}\n{keys}\n{rest}\n"


def record(line: str) -> None:
    """One line of today's proof."""
    page = PAGE / f"{time.strftime('%Y-%m-%d')}-fairness.md"
    if not page.exists():
        page.write_text("# Fairness on a cluster, proven\n\nWritten by `make proof`, on a machine of two cores.\n\n")
    with page.open("a") as file:
        file.write(f"- {line}\n")


def percent(values: list[float]) -> str:
    """Values as percents, one after the other."""
    return " ".join(f"{100 * value:.0f}" for value in values)


@pytest.mark.proof
@pytest.mark.timeout(5400)
def test_ten_thousand_pods_in_gangs_at_random(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], tmp_path: Path
) -> None:
    """More is asked for than there is: at quiet points no gang is half started; on the way every step is one up."""
    settings: dict[str, Any] = {
        "evictions": {"allowed": True, "perMinute": PER_MINUTE, "namespace": namespace, "switch": "switch"}
    }
    sizes = (10, 500) if PODS >= 10_000 else (5, max(20, PODS // 20))
    with (
        landscape(api, namespace, kwok_nodes, PODS) as (land, priorities),
        running(kubeconfig, tmp_path, "--no-events", **settings) as scheduler,
    ):
        proof, sight = Proof(api, scheduler, land, sizes, priorities), Sight(api, land.namespaces)
        sight.start()
        try:
            while proof.story.pods < PODS or len(proof.story.quiet) < ROUNDS:
                proof.round(sight)
        finally:
            sight.close()
        assert scheduler.metric("fairlead_cycles_total") > 0
        assert scheduler.metric("fairlead_skipped_preemptions_total") == 0
    story = proof.story
    story.seconds = time.monotonic() - proof.start
    assert story.evicted, "nobody was evicted: nothing is proven"
    parts = Counter(each.part for each in story.evicted)
    (PAGE / f"{time.strftime('%Y-%m-%d')}-fairness.svg").write_text(picture(story, land))
    record(
        f"{story.pods} pods in {story.gangs} gangs of {sizes[0]} to {sizes[1]}, {len(land.queues)} queues, "
        f"{len(land.namespaces)} namespaces, {land.whole} cpu, {story.seconds:.0f} s. "
        f"{len(story.quiet)} quiet points, no gang half started; asked for, percent of the whole: "
        f"{percent(story.asked)}; used: {percent(story.used)}. {len(story.evicted)} pods evicted for "
        f"{len(cases(story.evicted))} gangs, each one for the better ({dict(parts)}); {story.steps} settled "
        f"allocations on the way, each above the one before; a gang lost pods {story.most_cases} times at most in an "
        "interval. "
        f"Largest distance of a queue, percent: {percent([value for _, value, _ in story.quiet])}; "
        f"mean: {percent([value for _, _, value in story.quiet])}; largest gang: {percent(story.grain)}."
    )


@pytest.mark.proof
@pytest.mark.timeout(5400)
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
