"""How long a scaling step waits for its decision: from the version that asks to the version that answers it."""

import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster.played.leads import Leads

LONG = 3.0
"""Seconds from which on a step is remembered by name."""


class Stopwatch:
    """Follows the bindings of a namespace by a watch. A step ends when the targets add up to the replicas."""

    def __init__(self, api: Api, path: str, leads: Leads) -> None:
        self.led: list[float] = []
        """Seconds of steps during which an instance led all the while."""
        self.orphaned: list[float] = []
        """Those of steps during which nobody led for a while."""
        self.taken_over: list[float] = []
        """Of the latter: seconds from the moment when an instance led again."""
        self.long: list[str] = []
        self._api = api
        self._path = path
        self._leads = leads
        self._asked: dict[str, float] = {}
        self._wanted: dict[str, int] = {}
        self._over = threading.Event()

    def __enter__(self) -> "Stopwatch":
        threading.Thread(target=self._follow, daemon=True).start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()

    def _follow(self) -> None:
        while not self._over.is_set():
            with suppress(ApiError, OSError):
                for event in self._api.watch(self._path, seconds=600):
                    self.see(event["object"], time.monotonic())

    def see(self, binding: dict[str, Any], now: float) -> None:
        """One version of a binding. A refusal ends a step as well: it is an answer."""
        spec, name = binding.get("spec", {}), binding.get("metadata", {}).get("name", "")
        replicas = spec.get("replicas", 0)
        if name not in self._wanted:
            self._wanted[name] = replicas
        elif self._wanted[name] != replicas:
            self._wanted[name] = replicas
            self._asked.setdefault(name, now)
        placed = sum(each.get("replicas", 0) for each in spec.get("clusters") or [])
        if name in self._asked and (placed == replicas or _refused(binding)):
            self._stop(name, self._asked.pop(name), now)

    def _stop(self, name: str, asked: float, now: float) -> None:
        vacant = [each for each in self._leads.vacancies if each.touches(asked, now)]
        (self.orphaned if vacant else self.led).append(now - asked)
        since = max((each.ended or now for each in vacant), default=asked)
        if vacant:
            self.taken_over.append(max(0.0, now - max(asked, since)))
        if now - max(asked, since) > LONG:
            took = f"{now - asked:.1f} s, {now - max(asked, since):.1f} s of it while an instance led"
            self.long.append(f"{name}, decided at {datetime.now(UTC):%H:%M:%S.%f}: {took}")


def _refused(binding: dict[str, Any]) -> bool:
    conditions = binding.get("status", {}).get("conditions", [])
    return any(each["type"] == "Scheduled" and each["status"] == "False" for each in conditions)


def percentiles(seconds: list[float], what: str = "steps") -> str:
    """Median, 95 and 99 in a hundred, and the longest, in milliseconds."""
    if not seconds:
        return "none"
    order = sorted(seconds)
    at = [order[min(len(order) - 1, len(order) * part // 100)] for part in (50, 95, 99)]
    named = zip(("median", "95 %", "99 %", "longest"), (*at, order[-1]), strict=True)
    return f"{len(order)} {what}, " + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in named)
