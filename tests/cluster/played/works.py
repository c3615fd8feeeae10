"""The binding and execution controllers: objects come to the targets of a binding, and go where a target left."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.cluster.played.host import Host
from tests.cluster.played.members import Member


@dataclass(frozen=True, slots=True)
class Deletion:
    """An object that was deleted on a member."""

    member: str
    name: str
    uid: str


class Works:
    """A cluster in an eviction task keeps its object until the task is gone. `deletions` has all that were made."""

    def __init__(self, host: Host, members: Sequence[Member]) -> None:
        self._host = host
        self._members = members
        self.deletions: list[Deletion] = []

    def step(self) -> None:
        bindings = {each["metadata"]["name"]: each["spec"] for each in self._host.bindings()}
        for member in self._members:
            if not member.down:
                self._sync(member, bindings)

    def _sync(self, member: Member, bindings: dict[str, dict[str, object]]) -> None:
        wanted: dict[str, int] = {}
        leaving: set[str] = set()
        for name, spec in bindings.items():
            for each in _listed(spec, "clusters"):
                if each["name"] == member.name:
                    wanted[name] = int(each.get("replicas", 0))
            if any(each["fromCluster"] == member.name for each in _listed(spec, "gracefulEvictionTasks")):
                leaving.add(name)
        there = member.objects()
        for name, replicas in wanted.items():
            if there.get(name, ("", -1))[1] != replicas:
                member.apply(name, replicas)
        for name in there.keys() - wanted.keys() - leaving:
            self.deletions.append(Deletion(member.name, name, there[name][0]))
            member.delete(name)


def _listed(spec: dict[str, object], field: str) -> list[dict[str, str]]:
    found = spec.get(field) or []
    assert isinstance(found, list)
    return found
