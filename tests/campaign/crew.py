"""The components as processes: two of each elected one, killed, stopped and started again, and how large they are.

Each process has an identity of its own at the API server, so that its audit log tells them apart, and a wall clock of
its own that can be stepped.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tools.controlplane.plane import ControlPlane

from tests.campaign.audit import GROUP
from tests.campaign.stepped import set_clock
from tests.cluster.cutter import Cutter
from tests.cluster.webhooks import NAMESPACE, Webhooks

PAGE_SIZE = 4096
SETTLED_SECONDS = 20.0
"""A process is measured once it has run so long."""
CONFIGURATION = {
    "apiVersion": "fairlead.io/v1alpha1",
    "kind": "Configuration",
    "queue": {"statusSeconds": 1.0},
    "evictions": {"allowed": True, "perMinute": 6000},
    # The disk that snapshots go to is full.
    "scheduler": {"snapshotFile": "/dev/full"},
}
LARGEST_STEP = 86400.0 * 30


@dataclass
class Member:
    """One process of a component."""

    component: str
    process: "subprocess.Popen[bytes]"
    clock: Path
    began: float = field(default_factory=time.monotonic)


class Crew:
    """Two schedulers, fleets and storage keepers by lease, and the webhooks beside them."""

    def __init__(
        self, plane: ControlPlane, way: Cutter, folder: Path, longhorn_namespace: str, webhooks: Webhooks, count: int
    ) -> None:
        self._plane = plane
        self._way = way
        self._folder = folder
        self._webhooks = webhooks
        self._numbers = itertools.count()
        config = folder / "soak.json"
        config.write_text(json.dumps(CONFIGURATION))
        nowhere = "127.0.0.1:0"
        self._commands = {
            "scheduler": ("--listen", nowhere, "--pages", nowhere, "--lease-namespace", NAMESPACE),
            "fleet": ("--health", nowhere),
            "storage": ("--health", nowhere, "--longhorn-namespace", longhorn_namespace, "--act"),
        }
        self._config = config
        self.ports = folder / "ports.json"
        """Where the webhooks listen, as a JSON list."""
        self._webhook_clocks: dict[int, Path] = {}
        for _ in range(count):
            self._start_webhook()
        self.members = [self._start(component) for component in self._commands for _ in range(2)]
        self.largest: dict[str, float] = {}
        """MiB of the largest process of each component that was seen."""

    def _start(self, component: str) -> Member:
        number, clock = next(self._numbers), self._clock()
        access = self._way.through(self._plane.kubeconfig_for_user(f"{component}-{number}", ["system:masters", GROUP]))
        command = [sys.executable, *_program(clock), component, "--kubeconfig", str(access)]
        command += ["--config", str(self._config), *self._commands[component]]
        with (self._folder / f"{component}.log").open("ab") as log:
            return Member(component, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT), clock)

    def _clock(self) -> Path:
        """A clock that goes right, for now."""
        file = self._folder / f"clock-{next(self._numbers)}"
        set_clock(file, 0.0)
        return file

    def _start_webhook(self) -> None:
        """One more, with a token of its own; a token's number is in the audit log."""
        clock = self._clock()
        access = self._folder / f"webhook-{clock.name}.kubeconfig"
        access.write_text(self._plane.kubeconfig_for_service_account(NAMESPACE, "fairlead-webhook").read_text())
        self._webhooks.kubeconfig, self._webhooks.program = access, _program(clock)
        self._webhooks.start()
        self._webhook_clocks[self._webhooks.replicas[-1].process.pid] = clock
        self.ports.write_text(json.dumps(self._webhooks.balancer.ports))

    def end_one(self, chance: Random, number: signal.Signals) -> str:
        """End a process of an elected component and start another in its place."""
        member = chance.choice(self.members)
        heeds = _heeds(member.process.pid, number)
        member.process.send_signal(number)
        code = member.process.wait(120)
        self.members.remove(member)
        self.members.append(self._start(member.component))
        if heeds and code != 0:
            raise AssertionError(f"{member.component} ended with {code} after SIGTERM")
        return member.component

    def end_webhook(self, chance: Random, number: signal.Signals) -> None:
        """End one webhook and start another."""
        self._webhooks.kill(chance.choice(self._webhooks.replicas), number=number)
        self._start_webhook()

    def pause(self, chance: Random, seconds: float) -> str:
        """Let a process stand still for so long, as a machine does that swaps or sleeps."""
        every = [(each.component, each.process.pid) for each in self.members]
        every += [("webhook", each.process.pid) for each in self._webhooks.replicas]
        component, pid = chance.choice(every)
        # It may be ended while it stands still.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(seconds)
            finally:
                os.kill(pid, signal.SIGCONT)
        return component

    def step_clock(self, chance: Random) -> None:
        """Set the wall clock of one process off, by seconds or by weeks, back or ahead."""
        clocks = [each.clock for each in self.members]
        clocks += [self._webhook_clocks[each.process.pid] for each in list(self._webhooks.replicas)]
        set_clock(chance.choice(clocks), chance.choice((-1, 1)) * LARGEST_STEP ** chance.random())

    def dump(self, chance: Random) -> None:
        """Ask a scheduler for a snapshot, which has no room on the disk."""
        pid = chance.choice([each.process.pid for each in self.members if each.component == "scheduler"])
        if _heeds(pid, signal.SIGUSR2):
            os.kill(pid, signal.SIGUSR2)

    def ended(self) -> list[str]:
        """Processes that ended by themselves, with their exit codes."""
        codes = [(each.component, each.process.poll()) for each in self.members]
        codes += [("webhook", each.process.poll()) for each in self._webhooks.replicas]
        return [f"{component} ended with {code}" for component, code in codes if code is not None]

    def measure(self) -> None:
        """Note the largest of each component."""
        now = time.monotonic()
        every = [(each.component, each.process.pid) for each in self.members if now - each.began > SETTLED_SECONDS]
        every += [("webhook", each.process.pid) for each in self._webhooks.replicas]
        for component, pid in every:
            # One that was just ended has no size.
            with suppress(OSError, IndexError):
                self._note(component, pid)

    def _note(self, component: str, pid: int) -> None:
        self.largest[component] = max(self.largest.get(component, 0.0), _resident_mib(pid))

    def stop(self) -> None:
        """End all with SIGTERM."""
        for each in self.members:
            each.process.send_signal(signal.SIGTERM)
        for each in self.members:
            try:
                each.process.wait(60)
            except subprocess.TimeoutExpired:
                each.process.kill()


def _program(clock: Path) -> tuple[str, ...]:
    return "-m", "tests.campaign.stepped", str(clock)


def _heeds(pid: int, number: signal.Signals) -> bool:
    """Whether the process takes the signal as a wish; one that has only begun to start just ends by it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def _resident_mib(pid: int) -> float:
    """The memory of a process now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_SIZE / 2**20
