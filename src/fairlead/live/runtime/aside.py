"""What is set aside: objects that cannot be read, groups that cannot be decided. Each is named to people.

One bad object never stops the work for others (docs/decisions/0201). Whoever reads objects or decides groups one by
one tells here what went wrong with which; the log, an Event on the object and a metric say so, once for each fault.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from fairlead.kube.changes import Identified
from fairlead.kube.events import Recorder
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.resources import Resource
from fairlead.model.errors import InputError
from fairlead.model.faults import fault, way_to

REASON = "SetAside"
"""Of the Event on an object that is set aside; its action is the stage at which that happened."""
READING, DECIDING, WRITING = "Reading", "Deciding", "Writing"
"""The stages."""

T = TypeVar("T")
What = tuple[str, str, str, str]
"""API group, kind, namespace and name."""

log = structlog.get_logger("aside")


class Aside:
    """What one component has set aside. `recorder` writes the Events; the log says it in any case."""

    def __init__(self, registry: CollectorRegistry | None = None, recorder: Recorder | None = None) -> None:
        self.faults: dict[What, str] = {}
        """Why each object or group is set aside now."""
        self._stages: dict[tuple[str, What], str] = {}
        self._recorder = recorder
        self._held = Gauge(
            "fairlead_set_aside",
            "Objects and groups that are left out because they cannot be read or decided, by kind.",
            ["kind"],
            registry=registry,
        )
        self._defects = Counter(
            "fairlead_defects", "Failures of this program itself on one object or group.", registry=registry
        )

    def watched(self, resource: Resource[Any], metadata: Identified, error: Exception | None) -> None:
        """For reflectors: an object could not be read or taken, or (None) is read again or gone.

        One that is gone is set aside at no stage; one that is read again has its turn at all of them.
        """
        if error is None and not self._stages:
            return
        about = resource.refer(metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        for stage in (READING,) if error is not None else (READING, DECIDING, WRITING):
            self.tell(about, error, stage)

    def tell(self, about: ObjectReference, error: Exception | None, stage: str = READING) -> None:
        """The object is set aside at this stage because of the error; None: it is not, any more."""
        what = (about.api_version.rpartition("/")[0], about.kind, about.namespace, about.name)
        if error is None:
            if self._stages and self._stages.pop((stage, what), None) is not None:
                self._count()
                log.info("no longer set aside", kind=about.kind, name=_name(about), stage=stage)
            return
        why = fault(error)
        if not isinstance(error, InputError):
            self._defects.inc()
        if self._stages.get((stage, what)) != why:
            self._stages[stage, what] = why
            self._count()
            way = {} if isinstance(error, InputError) else {"way": way_to(error)}
            log.error("set aside", kind=about.kind, name=_name(about), stage=stage, why=why, **way)
        if self._recorder is not None:
            note = f"left out until it changes: {why}"
            self._recorder.record(about, reason=REASON, action=stage, note=note, kind="Warning")

    def lost(self, *stages: str) -> None:
        """This instance leads no longer: at these stages only a leader works, and another one tells of them now."""
        left = [key for key in self._stages if key[0] in stages]
        for key in left:
            del self._stages[key]
        if left:
            self._count()

    @contextmanager
    def around(self, about: ObjectReference, stage: str, *passing: type[Exception]) -> Iterator[None]:
        """Work on one object: what it raises sets it aside and ends here, except errors of the types `passing`."""
        try:
            yield
        except passing:
            raise
        except Exception as error:
            self.tell(about, error, stage)
        else:
            self.tell(about, None, stage)

    def _count(self) -> None:
        self.faults.clear()
        self.faults.update({what: why for (_, what), why in self._stages.items()})
        self._held.clear()
        for kind, number in Tally(kind for _, kind, _, _ in self.faults).items():
            self._held.labels(kind).set(number)


def culprit(things: Sequence[T], works: Callable[[Sequence[T]], Exception | None]) -> tuple[T, Exception] | None:
    """One of the things without which less fails, and what it makes `works` raise; None where none of them fails it.

    `works` tells what is raised with these things, None where all is well. It is asked about as often as the
    number of things can be halved: the shortest beginning that fails ends with the culprit.
    """
    error = works(things)
    if error is None or works(()) is not None:
        return None
    low, high = 0, len(things)
    while high - low > 1:
        middle = (low + high) // 2
        found = works(things[:middle])
        if found is None:
            low = middle
        else:
            high, error = middle, found
    return things[high - 1], error


def _name(about: ObjectReference) -> str:
    return f"{about.namespace}/{about.name}".lstrip("/")
