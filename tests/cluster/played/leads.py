"""Who leads, by the Lease: how long nobody did after a leader was killed."""

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tools.controlplane.api import Api, ApiError

LEASES = "/apis/coordination.k8s.io/v1/namespaces/fairlead-system/leases"

READY = 15.0
"""Seconds after its start in which an instance on a busy machine may not have looked at the lease yet."""


@dataclass(slots=True)
class Vacancy:
    """From the kill of a leader to the first renewal of another. `kills` counts those killed before that.

    `standby` is how long the instance that then won had been running at the kill: below 0 if it was started later.
    """

    began: float
    kills: int = 1
    ended: float | None = None
    standby: float = 0.0

    @property
    def seconds(self) -> float:
        return (time.monotonic() if self.ended is None else self.ended) - self.began

    def touches(self, start: float, end: float) -> bool:
        return self.began <= end and (self.ended is None or self.ended >= start)


class Leads:
    """Follows one Lease by a watch. Instances are known by their process ids, which are part of an identity."""

    def __init__(self, api: Api, lease: str) -> None:
        self.vacancies: list[Vacancy] = []
        self.holder = 0
        self._api = api
        self._lease = lease
        self._started: dict[int, float] = {}
        self._dead: set[int] = set()
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> "Leads":
        threading.Thread(target=self._follow, daemon=True).start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()

    def started(self, process: int, now: float) -> None:
        self._started[process] = now

    def killed(self, process: int, now: float) -> None:
        """The process is dead since `now`."""
        with self._lock:
            self._dead.add(process)
            if self._open is not None:
                self._open.kills += 1
            elif process == self.holder:
                self.vacancies.append(Vacancy(now))

    def see(self, lease: dict[str, Any], now: float) -> None:
        """One version of the lease. What a dead leader wrote last may be seen after its death."""
        holder = _process(lease.get("spec", {}).get("holderIdentity") or "")
        with self._lock:
            if holder and holder not in self._dead and self._open is not None:
                self._open.standby = self._open.began - self._started.get(holder, now)
                self._open.ended = now
            self.holder = holder or self.holder

    @property
    def _open(self) -> Vacancy | None:
        return self.vacancies[-1] if self.vacancies and self.vacancies[-1].ended is None else None

    def _follow(self) -> None:
        while not self._over.is_set():
            with suppress(ApiError, OSError):
                for event in self._api.watch(LEASES, seconds=600, fieldSelector=f"metadata.name={self._lease}"):
                    self.see(event["object"], time.monotonic())


def _process(identity: str) -> int:
    """The process id of `host_pid_random`."""
    parts = identity.rsplit("_", 2)
    return int(parts[1]) if len(parts) == 3 else 0


@dataclass(slots=True)
class Load:
    """The machine's load, looked at now and then."""

    most: float = 0.0
    total: float = 0.0
    looks: int = 0

    def look(self) -> None:
        now = os.getloadavg()[0]
        self.most = max(self.most, now)
        self.total += now
        self.looks += 1

    def __str__(self) -> str:
        return f"{self.total / max(1, self.looks):.0f} on average, {self.most:.0f} at most"


def takeovers(vacancies: Sequence[Vacancy]) -> tuple[list[float], list[float]]:
    """Seconds without a leader: where a standby was ready and lived on, and where none was."""
    had = [each.seconds for each in vacancies if each.kills == 1 and each.standby >= READY]
    return had, [each.seconds for each in vacancies if each.kills > 1 or each.standby < READY]
