"""The order of the pages: the order in which people need them."""

import re
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

CONTENTS: tuple[tuple[str, Any], ...] = (
    ("What it is", "index.md"),
    ("Try it in a minute", "plan.md"),
    (
        "Install",
        {"In a cluster": "install.md", "The command line": "command-line.md", "Versions that fit": "compatibility.md"},
    ),
    ("First workload", "first-workload.md"),
    (
        "Operate",
        {
            "Configure": "configuration.md",
            "Monitor": "monitoring.md",
            "Alerts": "alerts.md",
            "Back up": "backup.md",
            "Sizing": "sizing.md",
            "Scale": "scale.md",
            "Security": "security.md",
            "Scheduler": "scheduler.md",
            "Fairness": "fairness-live.md",
            "Webhook": "webhook.md",
            "Fleet": "fleet-live.md",
            "Storage": "storage-live.md",
            "The page": "ui.md",
            "Python": "python.md",
        },
    ),
    ("Troubleshoot", "troubleshoot.md"),
    (
        "Concepts",
        {
            "Architecture": "architecture.md",
            "Words": "glossary.md",
            "Fleet": "levels/fleet.md",
            "Tier": "levels/tier.md",
            "Queue": "levels/queue.md",
            "Node": "levels/node.md",
            "Disk": "levels/disk.md",
            "Simulation": "simulate.md",
            "The Kubernetes edge": "kube.md",
            "Kernels": "kernels.md",
        },
    ),
    (
        "Reference",
        {
            "Commands": "reference/cli.md",
            "Configuration": "configuration.md",
            "Metrics": "reference/metrics.md",
            "Reasons": "reference/reasons.md",
            "Annotations": "reference/annotations.md",
            "Schemas": "reference/schemas.md",
        },
    ),
)
LAST = {
    "Contributing": "contributing.md",
    "Changelog": "changelog.md",
    "Oracle": "oracle.md",
    "Mutants": "mutants.md",
    "Control plane": "controlplane.md",
    "Campaign": "campaign.md",
    "Profile": "profile.md",
}


def contents(staged: Path) -> list[Entry]:
    """The navigation of the site, without pages that are not there."""
    found = [{title: _there(what, staged)} for title, what in CONTENTS if _there(what, staged)]
    found.append({"Decisions": ["decisions/README.md", *_titled(staged, "decisions")]})
    found.append({"Proof": [*_titled(staged, "proof"), *(_there(LAST, staged) or [])]})
    return found


def _there(what: Any, staged: Path) -> Any:
    if isinstance(what, str):
        return what if (staged / what).exists() else None
    return [{title: page} for title, page in what.items() if (staged / page).exists()]


def _titled(staged: Path, folder: str) -> list[Entry]:
    """Every page of a folder by its first heading, in order of name."""
    found = []
    for path in sorted((staged / folder).glob("*.md")):
        heading = re.search(r"^# (.+)$", path.read_text(), re.MULTILINE)
        if path.name != "README.md":
            found.append({heading[1] if heading else path.stem: str(path.relative_to(staged))})
    return found
