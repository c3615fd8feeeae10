"""The components as processes: two of each elected one, killed, stopped and started again, and how large they are."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.cluster.webhooks import NAMESPACE, Webhooks

PAGE_SIZE = 4096
SETTLED_SECONDS = 20.0
"""A process is measured once it has run so long."""
CONFIGURATION = {
    "apiVersion": "fairlead.io/v1alpha1",
    "kind": "Configuration",
    "queue": {"statusSeconds": 1.0},
    "evictions": {"allowed": True, "perMinute": 6000},
}


@dataclass
class Member:
    """One process of a component."""

    component: str
    process: "subprocess.Popen[bytes]"
    began: float = field(default_factory=time.monotonic)


class Crew:
    """Two schedulers, fleets and storage keepers by lease, and the webhooks beside them."""

    def __init__(self, kubeconfig: Path, folder: Path, longhorn_namespace: str, webhooks: Webhooks) -> None:
        self._folder = folder
        self._webhooks = webhooks
        self._count = len(webhooks.replicas)
        config = folder / "soak.json"
        config.write_text(json.dumps(CONFIGURATION))
        access = ("--kubeconfig", str(kubeconfig), "--config", str(config))
        nowhere = "127.0.0.1:0"
        self._commands = {
            "scheduler": (*access, "--listen", nowhere, "--pages", nowhere, "--lease-namespace", NAMESPACE),
            "fleet": (*access, "--health", nowhere),
            "storage": (*access, "--health", nowhere, "--longhorn-namespace", longhorn_namespace, "--act"),
        }
        self.members = [self._start(component) for component in self._commands for _ in range(2)]
        self.largest: dict[str, float] = {}
        """MiB of the largest process of each component that was seen."""

    def _start(self, component: str) -> Member:
        with (self._folder / f"{component}.log").open("ab") as log:
            command = [sys.executable, "-m", "fairlead", component, *self._commands[component]]
            return Member(component, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))

    def end_one(self, chance: Random, number: signal.Signals) -> str:
        """End a process of an elected component and start another in its place."""
        member = chance.choice(self.members)
        member.process.send_signal(number)
        code = member.process.wait(120)
        self.members.remove(member)
        self.members.append(self._start(member.component))
        if number is signal.SIGTERM and code != 0:
            raise AssertionError(f"{member.component} ended with {code} after SIGTERM")
        return member.component

    def end_webhook(self, chance: Random, number: signal.Signals) -> None:
        """End one webhook and start another."""
        self._webhooks.kill(chance.choice(self._webhooks.replicas), number=number)
        self._webhooks.start(self._count - len(self._webhooks.replicas))

    def pause(self, chance: Random, seconds: float) -> str:
        """Let a process stand still for so long, as a machine does that swaps or sleeps."""
        every = [(each.component, each.process.pid) for each in self.members]
        every += [("webhook", each.process.pid) for each in self._webhooks.replicas]
        component, pid = chance.choice(every)
        subprocess.run(["kill", "-STOP", str(pid)], check=True)
        try:
            time.sleep(seconds)
        finally:
            subprocess.run(["kill", "-CONT", str(pid)], check=True)
        return component

    def ended(self) -> list[str]:
        """Processes that ended by themselves, with their exit codes."""
        codes = [(each.component, each.process.poll()) for each in self.members]
        codes += [("webhook", each.process.poll()) for each in self._webhooks.replicas]
        return [f"{component} ended with {code}" for component, code in codes if code is not None]

    def measure(self) -> None:
        """Note the largest of each component."""
        now = time.monotonic()
        for each in self.members:
            if now - each.began > SETTLED_SECONDS and each.process.poll() is None:
                self._note(each.component, each.process.pid)
        for one in self._webhooks.replicas:
            self._note("webhook", one.process.pid)

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


def _resident_mib(pid: int) -> float:
    """The memory of a process now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_SIZE / 2**20
