"""Objects with versions, and the history that watches are served from."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fairlead.kube.objects.meta import Raw
from tests.fake.selectors import matches

Key = tuple[str, str]
SPAN = 1  # versions grow by one for each write


@dataclass(frozen=True, slots=True)
class Record:
    """One write. `old` is None for a creation; `new` holds the last state for a deletion."""

    version: int
    kind: str
    new: Raw
    old: Raw | None

    def seen_through(self, labels: str, fields: str) -> tuple[str, Raw] | None:
        """The watch event for someone who sees only part of the objects; None if it does not concern them."""
        was = self.old is not None and matches(self.old, labels, fields)
        now = self.kind != "DELETED" and matches(self.new, labels, fields)
        if now:
            return ("MODIFIED" if was else "ADDED"), self.new
        return ("DELETED", self.new) if was else None


@dataclass(slots=True)
class Collection:
    objects: dict[Key, Raw] = field(default_factory=dict)
    history: list[Record] = field(default_factory=list)


class Store:
    """All collections under one version counter. `changed` is called after every write."""

    def __init__(self, now: Callable[[], str], changed: Callable[[], None]) -> None:
        self.version = 100
        self.floor = 0
        self._now = now
        self._changed = changed
        self._collections: dict[str, Collection] = {}
        self._born = 0

    def collection(self, where: str) -> Collection:
        return self._collections.setdefault(where, Collection())

    def get(self, where: str, key: Key) -> Raw | None:
        return self.collection(where).objects.get(key)

    def create(self, where: str, key: Key, body: Raw) -> Raw:
        self._born += 1
        found = copy.deepcopy(body)
        metadata = found.setdefault("metadata", {})
        if not metadata.get("name"):
            metadata["name"] = f"{metadata.get('generateName', '')}{self._born:05d}"
        if key[0]:
            metadata["namespace"] = key[0]
        metadata.setdefault("uid", f"00000000-0000-4000-8000-{self._born:012d}")
        metadata.setdefault("creationTimestamp", self._now())
        metadata["generation"] = 1
        return self._write(where, "ADDED", (key[0], metadata["name"]), found, None)

    def replace(self, where: str, key: Key, body: Raw) -> Raw:
        """The new state of an existing object; an equal one is not written, as on a real server."""
        old = self.collection(where).objects[key]
        found = copy.deepcopy(body)
        metadata = found.setdefault("metadata", {})
        for name in ("uid", "creationTimestamp", "name", "namespace", "resourceVersion", "deletionTimestamp"):
            if name in old["metadata"]:
                metadata[name] = old["metadata"][name]
        changed = found.get("spec") != old.get("spec")
        metadata["generation"] = old["metadata"].get("generation", 0) + (1 if changed else 0)
        if found == old:
            return old
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            return self._remove(where, key, found)
        return self._write(where, "MODIFIED", key, found, old)

    def delete(self, where: str, key: Key) -> Raw:
        """Gone, or marked for deletion where a finalizer holds it."""
        old = self.collection(where).objects[key]
        if not old["metadata"].get("finalizers"):
            return self._remove(where, key, copy.deepcopy(old))
        if old["metadata"].get("deletionTimestamp"):
            return old
        found = copy.deepcopy(old)
        found["metadata"]["deletionTimestamp"] = self._now()
        return self._write(where, "MODIFIED", key, found, old)

    def _remove(self, where: str, key: Key, last: Raw) -> Raw:
        old = self.collection(where).objects[key]
        found = self._write(where, "DELETED", key, last, old)
        del self.collection(where).objects[key]
        return found

    def _write(self, where: str, kind: str, key: Key, found: Raw, old: Raw | None) -> Raw:
        self.version += SPAN
        found["metadata"]["resourceVersion"] = str(self.version)
        here = self.collection(where)
        here.objects[key] = found
        here.history.append(Record(self.version, kind, found, old))
        self._changed()
        return found

    def compact(self) -> None:
        """Forget all history: older versions and tokens are gone from now on."""
        self.version += SPAN
        self.floor = self.version
        for here in self._collections.values():
            here.history.clear()

    def since(self, where: str, version: int) -> list[Record]:
        return [record for record in self.collection(where).history if record.version > version]

    def listed(self, where: str, namespace: str, labels: str, fields: str) -> list[Raw]:
        found: list[tuple[Key, Any]] = sorted(self.collection(where).objects.items())
        return [raw for (space, _), raw in found if namespace in ("", space) and matches(raw, labels, fields)]
