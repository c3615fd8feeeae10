"""A simulation as a source: its measures, and every moment of it as a snapshot that can be planned and explained."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.engine.plan import plan
from fairlead.model.errors import InputError
from fairlead.sim.events import Timeline
from fairlead.sim.film import Film
from fairlead.sim.report import record
from fairlead.sim.run import Run
from fairlead.web.views import Look

LOOKS = 16
"""Moments that are kept ready."""


class Replay:
    """The runs of one story, each with its film."""

    def __init__(self, story: Timeline, runs: Sequence[Run], films: Mapping[str, Film]) -> None:
        self._story, self._runs, self._films = story, runs, films
        self._looks: OrderedDict[tuple[str, int], Look] = OrderedDict()
        self._lock = asyncio.Lock()

    def about(self) -> dict[str, Any]:
        """The policies, and how long it lasts in seconds."""
        return {
            "policies": [each.policy.name for each in self._runs],
            "seconds": self._story.until_ms // 1000,
            "step": next(iter(self._films.values())).every_ms / 1000,
        }

    def record(self) -> dict[str, Any]:
        """The record of `fairlead simulate -o json`, with what happened to each gang."""
        found = record(self._story, self._runs)
        for each, run in zip(found["policies"], self._runs, strict=True):
            each["jobs"] = self._films[run.policy.name].jobs()
        return found

    async def look(self, policy: str, second: int) -> Look:
        """The moment `second` of the run under a policy (the first one where none is named)."""
        name = policy or self._runs[0].policy.name
        if name not in self._films:
            raise InputError("policy", f"{name!r} was not simulated; there are {', '.join(self._films)}")
        place = self._films[name].place(second * 1000)
        async with self._lock:
            if (name, place) not in self._looks:
                self._looks[name, place] = await asyncio.to_thread(self._made, name, place)
                while len(self._looks) > LOOKS:
                    self._looks.popitem(last=False)
            return self._looks[name, place]

    def _made(self, name: str, place: int) -> Look:
        view = self._films[name].snapshot(place)
        return Look(title=self._story.name or "simulation", view=view, decided=plan(view))
