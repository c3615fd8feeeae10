"""Which bindings are to be looked at, and when: those that changed, those whose write failed after a pause."""

from collections.abc import Callable, Iterable

from fairlead.kube.changes import Key
from fairlead.kube.retry import Backoff, Jitter
from fairlead.live.runtime.retries import Retries

BACKOFF = Backoff(first=0.5, cap=30.0)
CONFLICTS = Backoff(first=0.05, cap=0.5)
"""Another writer was faster: the binding is decided on what it wrote, as soon as the watch shows it."""


class BindingTurns:
    """A binding has its turn if it is due, is not being written, and does not wait out a failure."""

    def __init__(self, monotonic: Callable[[], float], jitter: Jitter) -> None:
        self._retries: Retries[Key] = Retries(monotonic, jitter)
        self._due: set[Key] = set()
        self._writing: set[Key] = set()
        self._refused: dict[Key, int] = {}

    def add(self, keys: Iterable[Key]) -> None:
        """These are to be looked at."""
        self._due.update(keys)

    def changed(self, key: Key, generation: int) -> None:
        """The binding has a new version. Another spec is another question, and ends a pause; a status does not."""
        if self._refused.get(key, 0) != generation:
            self._refused.pop(key, None)
            self._retries.try_now(key)
        self._due.add(key)

    def ready(self) -> list[Key]:
        """Those whose turn it is."""
        self._due |= self._retries.ended()
        return [key for key in self._due if key not in self._writing and key not in self._retries]

    def taken(self, keys: Iterable[Key]) -> None:
        """These have their turn."""
        self._due.difference_update(keys)

    def writing(self, key: Key) -> None:
        """Its result is being written."""
        self._writing.add(key)

    def is_writing(self, key: Key) -> bool:
        return key in self._writing

    def written(self, key: Key) -> bool:
        """Its result was written, or need not be; whether it changed meanwhile and is due again."""
        self._writing.discard(key)
        self._retries.forget(key)
        self._refused.pop(key, None)
        return key in self._due

    def failed(self, key: Key, generation: int, *, conflict: bool) -> None:
        """Its result was not written: it is looked at again after a pause."""
        self._writing.discard(key)
        self._retries.failed(key, CONFLICTS if conflict else BACKOFF)
        if not conflict:
            self._refused[key] = generation

    def given_up(self, key: Key) -> None:
        """Its result was not sent, for this instance leads no more: that says nothing of the binding."""
        self._writing.discard(key)
        self._due.add(key)

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._due.discard(key)
        self._retries.forget(key)
        self._refused.pop(key, None)

    def rest(self) -> None:
        """No failure of an earlier lead matters to an instance that does not lead, or has just begun to."""
        self._retries.clear()
        self._refused.clear()

    def next(self) -> float | None:
        """When the first pause ends."""
        return self._retries.next
