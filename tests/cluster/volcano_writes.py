"""What a scheduler writes while a story of Volcano's controllers is played, told field by field.

Watches follow PodGroups, pods and Events of a namespace, and Queues; the order is that of the server's versions. Of
each Job only its last PodGroup counts, for some stories delete one and make it again.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tools.controlplane.api import Api

from tests.cluster.following import Followed, followed_until_end
from tests.cluster.volcano import QUEUES, groups_path

Raw = dict[str, Any]
Course = dict[str, list[str]]
"""By field what was written, in order: `phases` and `conditions` of the PodGroup, the reasons its pods are `told`, the
kinds of `events`, and the `order` of the first of everything."""
RECORDED = json.loads((Path(__file__).parents[1] / "peers" / "data" / "volcano_writes.json").read_text())
"""What vc-scheduler wrote, Job by Job, and the differences that are intended."""
FIELDS = ("phases", "conditions", "told", "events", "order")


@dataclass
class Writes:
    """Every version of every object, as watches told of them; `over` is the server's version at which a Job ended."""

    seen: list[tuple[int, str, Raw]] = field(default_factory=list)
    over: dict[str, int] = field(default_factory=dict)

    def on(self, kind: str, name: str, found: Raw | None) -> None:
        """An object came or changed."""
        if found is not None:
            self.seen.append((int(found["metadata"]["resourceVersion"]), kind, found))

    def held(self, queue: str) -> list[Raw]:
        """What the queue's status ever said that it holds."""
        found = [each for _, kind, each in list(self.seen) if kind == "Queue" and each["metadata"]["name"] == queue]
        return [each.get("status", {}).get("allocated", {}) for each in found]

    def courses(self) -> dict[str, Course]:
        """What was written, by Job."""
        made: dict[str, Course] = defaultdict(lambda: defaultdict(list))
        for version, kind, found in sorted(self.seen, key=lambda each: each[0]):
            job = job_of(found["involvedObject"]["name"] if kind == "Event" else found["metadata"]["name"])
            if kind == "Event" and found["involvedObject"]["kind"] in ("Pod", "PodGroup"):
                _add(made[job], "events", f"{found['involvedObject']['kind']} {found['type']} {found['reason']}")
            elif kind == "PodGroup" and version <= self.over.get(job, version):
                _of_group(made, job, found)
            elif kind == "Pod" and version <= self.over.get(job, version):
                _of_pod(made[job], found)
        return {job: {what: _in_order(what, course[what]) for what in FIELDS} for job, course in made.items()}


def of_story(story: str) -> dict[str, Raw]:
    """What was recorded of the Jobs of a story."""
    return {each["job"]: each for each in RECORDED["jobs"] if each["story"] == story}


def differs(what: str) -> Any:
    """What Fairlead writes where another object than a Job's is compared."""
    return next(each["ours"] for each in RECORDED["objects"] if each["what"] == what)


def wanted(recorded: Raw) -> Course:
    """What Fairlead writes of a Job: what vc-scheduler wrote, but for the intended differences."""
    return settled(recorded, {**recorded["recorded"], **recorded["ours"]})


def settled(recorded: Raw, course: Course) -> Course:
    """The course without what depends on how fast pods come."""
    sometimes = recorded.get("sometimes", {})
    return {what: [each for each in said if each not in sometimes.get(what, ())] for what, said in course.items()}


def _in_order(what: str, said: list[str]) -> list[str]:
    """Events come when they come."""
    return sorted(said) if what == "events" else list(said)


def job_of(name: str) -> str:
    """The Job that a pod or a PodGroup belongs to; the only Deployment there is has the group of its ReplicaSet."""
    first = name.partition("-")[0]
    return "e" if first == "podgroup" else first


def _of_group(made: dict[str, Course], job: str, group: Raw) -> None:
    status = group.get("status", {})
    phase = status.get("phase", "")
    if not phase and made[job]["phases"]:
        made[job] = defaultdict(list)  # made anew
    course = made[job]
    _add(course, "order", "group")
    if phase:
        _add(course, "phases", phase)
        _add(course, "order", phase)
    for each in status.get("conditions", []):
        said = f"{each['type']} {each['status']} {each.get('reason', '')}"
        _add(course, "conditions", said)
        if said.startswith("Scheduled True"):
            _add(course, "order", "Scheduled")


def _of_pod(course: Course, pod: Raw) -> None:
    _add(course, "order", "pod")
    for each in pod["status"].get("conditions", []):
        if each["type"] == "PodScheduled" and each["status"] == "False":
            _add(course, "told", each.get("reason", ""))
    if pod["spec"].get("nodeName"):
        _add(course, "order", "bind")


def _add(course: Course, what: str, said: str) -> None:
    """Once each; what is written again is no news."""
    if said not in course[what]:
        course[what].append(said)


@contextmanager
def written(api: Api, namespace: str) -> Iterator[Writes]:
    """What is written in the namespace, and on Queues, until the block ends."""
    writes = Writes()
    core = f"/api/v1/namespaces/{namespace}"
    paths = {"PodGroup": groups_path(namespace), "Pod": f"{core}/pods", "Event": f"{core}/events", "Queue": QUEUES}
    with ExitStack() as stack:
        for kind, path in paths.items():
            stack.enter_context(followed_until_end(Followed(api, path, partial(writes.on, kind))))
        yield writes
