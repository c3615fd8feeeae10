"""What the API server's audit log says: how many pods were admitted through the webhook, and who wrote without leading.

The log is the server's own, so no restart of a component and no missed watch event hides a write from it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GROUP = "fairlead-soak"
"""The group of every process of ours that is elected, beside those with a ServiceAccount."""
WEBHOOKS = "system:serviceaccounts:fairlead-system"
LARGEST_MIB = 4000
"""No log of a run becomes so large, so none is begun anew in its middle."""
CALLED = "mutation.webhook.admission.k8s.io/"
"""The audit annotation of a webhook that answered begins so; that of one that did not has a word before it."""
Event = dict[str, Any]


def arguments(folder: Path, namespaces: Iterable[str]) -> list[str]:
    """Arguments for the API server: a log of pods created in the namespaces and of what our processes write."""
    writes = ["create", "update", "patch", "delete"]
    leases = [{"group": "coordination.k8s.io", "resources": ["leases"]}]
    ours: dict[str, Any] = {"userGroups": [GROUP, WEBHOOKS], "verbs": writes}
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [
            {"level": "Request", **ours, "resources": leases},
            {"level": "None", "resources": [{"group": "", "resources": ["events"]}, {"group": "events.k8s.io"}]},
            {"level": "Metadata", **ours},
            {
                "level": "Metadata",
                "verbs": ["create"],
                "namespaces": list(namespaces),
                "resources": [{"group": "", "resources": ["pods"]}],
            },
            {"level": "None"},
        ],
    }
    (folder / "audit-policy.json").write_text(json.dumps(policy))
    return [
        f"--audit-policy-file={folder / 'audit-policy.json'}",
        f"--audit-log-path={folder / 'audit.jsonl'}",
        f"--audit-log-maxsize={LARGEST_MIB}",
    ]


@dataclass
class Audit:
    """The log of one run, read as it grows. Times are texts of one form, so they compare as they are."""

    file: Path
    admitted: int = 0
    """Pods that the API server created after a webhook process had answered."""
    unserved: int = 0
    """Pods that were created although no webhook process answered."""
    _at: int = 0
    _leases: list[Event] = field(default_factory=list)
    _writes: list[Event] = field(default_factory=list)

    def read(self) -> None:
        """What was added since the last time; a line that is not whole yet waits for the next."""
        with self.file.open("rb") as log:
            log.seek(self._at)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._at += len(line)
                self._take(json.loads(line))

    def _take(self, event: Event) -> None:
        if not 200 <= event.get("responseStatus", {}).get("code", 0) < 300:
            return
        about = event["objectRef"]
        if about["resource"] == "leases":
            self._leases.append(event)
        elif about["resource"] == "pods" and event["verb"] == "create" and not about.get("subresource"):
            called = any(each.startswith(CALLED) for each in event.get("annotations", {}))
            self.admitted += called
            self.unserved += not called
        elif needs_lease(event):
            self._writes.append(event)

    def late(self) -> list[str]:
        """Writes of a process at a time at which it cannot have held its lease, as sentences."""
        held = _held(self._leases)
        return [
            f"{event['verb']} {event['requestURI']} at {event['requestReceivedTimestamp']} by {who(event)}, "
            "which did not hold its lease"
            for event in self._writes
            if not any(begin <= event["requestReceivedTimestamp"] <= end for begin, end in held[who(event)])
        ]

    @property
    def writes(self) -> int:
        """How many writes were looked at that only a leader may make."""
        return len(self._writes)


def needs_lease(event: Event) -> bool:
    """Whether only a leader may make this write. Every webhook process counts slots; only one evicts and deletes."""
    if GROUP in event["user"]["groups"]:
        return True
    about = event["objectRef"]
    return about.get("subresource") == "eviction" or (event["verb"], about["resource"]) == ("delete", "tierledgers")


def who(event: Event) -> str:
    """The process: elected ones have users of their own, webhooks tokens of their own."""
    user = event["user"]
    if GROUP in user["groups"]:
        return str(user["username"])
    return str(user.get("extra", {}).get("authentication.kubernetes.io/credential-id", [user["username"]])[0])


def _held(leases: list[Event]) -> dict[str, list[tuple[str, str]]]:
    """Since and until when each process may have held its lease: widest, by when requests came and were answered."""
    held: dict[str, list[tuple[str, str]]] = defaultdict(list)
    by_name: dict[str, list[Event]] = defaultdict(list)
    for event in leases:
        by_name[event["objectRef"].get("name") or event["requestObject"]["metadata"]["name"]].append(event)
    for events in by_name.values():
        holder, since = "", ""
        for event in sorted(events, key=lambda each: str(each["stageTimestamp"])):
            now = who(event) if event["requestObject"]["spec"].get("holderIdentity") else ""
            if now == holder:
                continue
            if holder:
                held[holder].append((since, event["stageTimestamp"]))
            holder, since = now, event["requestReceivedTimestamp"]
        if holder:
            held[holder].append((since, "9999"))
    return held
