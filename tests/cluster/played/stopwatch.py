"""How long a scaling step waits for its decision: from the version that asks to the version that answers it."""

import threading
import time
from contextlib import suppress
from typing import Any

from tools.controlplane.api import Api, ApiError

TAKEOVER = 8.0
"""Seconds after the kill of an instance in which a step may have to wait for the lease to end."""


class Stopwatch:
    """Follows the bindings of a namespace by a watch. A step ends when the targets add up to the replicas."""

    def __init__(self, api: Api, path: str) -> None:
        self.led: list[float] = []
        """Seconds of steps that were asked for while an instance led."""
        self.orphaned: list[float] = []
        """Those asked for or answered soon after a kill."""
        self.kills: list[float] = []
        self._api = api
        self._path = path
        self._asked: dict[str, float] = {}
        self._wanted: dict[str, int] = {}
        self._over = threading.Event()

    def __enter__(self) -> "Stopwatch":
        threading.Thread(target=self._follow, daemon=True).start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()

    def killed(self) -> None:
        """An instance died just now; whether it led is not known."""
        self.kills.append(time.monotonic())

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
            self._stop(self._asked.pop(name), now)

    def _stop(self, asked: float, now: float) -> None:
        orphan = any(asked - TAKEOVER <= kill <= now for kill in self.kills)
        (self.orphaned if orphan else self.led).append(now - asked)


def _refused(binding: dict[str, Any]) -> bool:
    conditions = binding.get("status", {}).get("conditions", [])
    return any(each["type"] == "Scheduled" and each["status"] == "False" for each in conditions)


def percentiles(seconds: list[float]) -> str:
    """Median, 95 and 99 in a hundred, and the longest, in milliseconds."""
    if not seconds:
        return "none"
    order = sorted(seconds)
    at = [order[min(len(order) - 1, len(order) * part // 100)] for part in (50, 95, 99)]
    named = zip(("median", "95 %", "99 %", "longest"), (*at, order[-1]), strict=True)
    return f"{len(order)} steps, " + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in named)
