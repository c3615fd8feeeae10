"""What waits, grouped by reason: the workload, how many of it, and what would cure it."""

from collections.abc import Iterator
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.engine.plan import Plan
from fairlead.model.reasons import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """`waiting` replicas of one thing at one level; `key` is what the page asks for by."""

    level: str
    cluster: str
    key: str
    title: str
    waiting: int
    queue: str
    finding: Finding | None


def unplaced(decided: Plan) -> Iterator[Unplaced]:
    """Everything that found no place, in the order of the levels."""
    for each in decided.divided:
        if each.division.unplaced:
            yield Unplaced(
                level="fleet",
                cluster="",
                key=each.workload.key,
                title=each.workload.title,
                waiting=each.division.unplaced,
                queue="",
                finding=each.division.finding,
            )
    for site in decided.sites:
        for path in site.paths:
            if path.unplaced:
                finding = path.findings[0] if path.findings else None
                yield Unplaced(
                    level=finding.reason.level if finding else "node",
                    cluster=site.site.name,
                    key=path.workload.key,
                    title=path.workload.title,
                    waiting=path.unplaced,
                    queue=path.job.queue,
                    finding=finding,
                )
    for name, decision in decided.storage.items():
        for outcome in decision.outcomes:
            if outcome.unplaced:
                yield Unplaced(
                    level="disk",
                    cluster=name,
                    key=f"volume/{outcome.volume.name}",
                    title=outcome.volume.name,
                    waiting=outcome.unplaced,
                    queue="",
                    finding=outcome.finding,
                )


def waiting_record(decided: Plan) -> dict[str, Any]:
    """Groups by cure and reason, most replicas first; each member with its sentence."""
    groups: dict[tuple[str, str, str], list[Unplaced]] = {}
    for each in unplaced(decided):
        cure = each.finding.reason.cure.value if each.finding else "room"
        reason = each.finding.code if each.finding else ""
        groups.setdefault((cure, reason, each.level), []).append(each)
    rows: list[dict[str, Any]] = [
        {
            "cure": cure,
            "reason": reason,
            "level": level,
            "replicas": sum(each.waiting for each in members),
            "members": [_member(each) for each in members],
        }
        for (cure, reason, level), members in groups.items()
    ]
    rows.sort(key=lambda row: (-row["replicas"], row["cure"], row["reason"]))
    return {"groups": rows, "replicas": sum(row["replicas"] for row in rows)}


def _member(each: Unplaced) -> dict[str, Any]:
    return {
        "workload": each.key,
        "title": each.title,
        "cluster": each.cluster,
        "waiting": each.waiting,
        "queue": each.queue,
        "message": each.finding.sentence if each.finding else "",
    }
