"""What the store went through: every version of a namespace's Deployments and pods, and the most that was granted."""

import http.client
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tools.controlplane.api import ApiError

from tests.cluster.fleets import Fleet, active, required, target

WATCH_SECONDS = 2


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """One change, by the version of the store that it made. `owner` is a pod's ReplicaSet, `held` that it has a slot.

    For a Deployment `target` is min(M, N), for a pod it is None.
    """

    version: int
    uid: str
    app: str
    owner: str = ""
    held: bool = False
    created: bool = False
    target: int | None = field(default=None, compare=False)


@dataclass
class Record:
    """Watches of one namespace, kept from its beginning. Read it when all of them have caught up."""

    fleet: Fleet
    moments: list[Moment] = field(default_factory=list)
    versions: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    trouble: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def kept(self) -> Iterator["Record"]:
        """Keep it while the block runs."""
        threads = [threading.Thread(target=self._watch, args=(each,)) for each in self._paths]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.stop.set()
            for thread in threads:
                thread.join(30)

    def complete(self) -> None:
        """Wait until everything that is stored now has been seen."""
        for path in self._paths:
            self.fleet.api.wait(f"the watch of {path} has caught up", lambda path=path: self._caught_up(path))
        assert not self.trouble

    @property
    def created(self) -> int:
        """Pods that were created."""
        return sum(each.created for each in self.moments)

    @property
    def granted(self) -> int:
        """Pods that were given a slot."""
        return len({each.uid for each in self.moments if each.held})

    def excesses(self) -> list[str]:
        """See `excesses`."""
        return excesses(sorted(self.moments), self.fleet.quiet_points)

    @property
    def _paths(self) -> tuple[str, str]:
        return self.fleet.path, self.fleet.pods_path

    def _caught_up(self, path: str) -> bool:
        found = {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in self.fleet.api.items(path)}
        return found == self.versions[path]

    def _watch(self, path: str) -> None:
        version = "0"
        while not self.stop.is_set():
            options: Mapping[str, Any] = {"resourceVersion": version, "timeoutSeconds": WATCH_SECONDS}
            try:
                for event in self.fleet.api.watch(path, allowWatchBookmarks="true", **options):
                    version = self._seen(path, event)
            except (OSError, http.client.HTTPException):
                continue
            except ApiError as error:
                self.trouble.append(str(error))
                return

    def _seen(self, path: str, event: dict[str, Any]) -> str:
        found, metadata = event["object"], event["object"]["metadata"]
        if event["type"] == "ERROR":
            raise ApiError(410, "Gone", str(found))
        version: str = metadata["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return version
        gone, uid = event["type"] == "DELETED", metadata["uid"]
        if path == self.fleet.path:
            moment = Moment(int(version), uid, metadata["name"], target=0 if gone else target(found))
        else:
            moment = Moment(
                int(version),
                uid,
                metadata["labels"]["app"],
                owner=metadata["ownerReferences"][0]["uid"],
                held=not gone and active(found) and required(found),
                created=event["type"] == "ADDED" and uid not in self.versions[path],
            )
        self.moments.append(moment)
        if gone:
            self.versions[path].pop(uid, None)
        else:
            self.versions[path][uid] = version
        return version


def excesses(moments: Iterable[Moment], quiet_points: Iterable[int]) -> list[str]:
    """Every moment at which a slot was taken though min(M, N) of the ReplicaSet's pods had one.

    A pod is stored a moment after its slot was granted, and N may have fallen in between: so the bound is the highest
    min(M, N) since the last quiet point, at which nothing was under way.
    """
    quiet = sorted(quiet_points)
    held: dict[str, set[str]] = defaultdict(set)
    now: dict[str, int] = {}
    bound: dict[str, int] = {}
    found = []
    for each in moments:
        while quiet and quiet[0] < each.version:
            quiet.pop(0)
            bound = dict(now)
        if each.target is not None:
            now[each.app] = each.target
            bound[each.app] = max(bound.get(each.app, 0), each.target)
        elif not each.held:
            held[each.owner].discard(each.uid)
        elif each.uid not in held[each.owner]:
            held[each.owner].add(each.uid)
            if len(held[each.owner]) > bound.get(each.app, 0):
                found.append(f"{each.app}: {len(held[each.owner])} of {bound.get(each.app, 0)} at {each.version}")
    return found
