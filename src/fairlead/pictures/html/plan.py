"""A plan for a notebook: workloads, nodes and queues of each cluster, and why something waits."""

from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.engine.evenness import node_use
from fairlead.engine.plan import Plan
from fairlead.engine.site_plan import SitePlan
from fairlead.model.order import natural_key
from fairlead.pictures.counts import MOST_SPOTS, counts_text, many
from fairlead.pictures.html.parts import BLUE, GREEN, Html, bar, joined, paragraph, table
from fairlead.pictures.plan import MOST_NODES, MOST_ROWS

Record = Mapping[str, Any]


def picture(decided: Plan, record: Record) -> Html:
    """The whole plan; of many workloads those that wait come first."""
    return joined(_parts(decided, record))


def _parts(decided: Plan, record: Record) -> Iterator[Html]:
    if record["fleet"]:
        rows = [(each["workload"], each["replicas"], counts_text(each["placements"])) for each in record["fleet"]]
        yield table("Fleet", ("workload", "replicas", "clusters"), rows)
    for site, own in zip(decided.sites, record["sites"], strict=True):
        yield from _site(site, own)
    for name, each in record["storage"].items():
        rows = [(spot["volume"], spot["node"], spot["disk"]) for spot in each["placements"]]
        yield table(f"Storage of {name}" if name else "Storage", ("volume", "node", "disk"), rows)
    wait = many(record["unplaced"], "replica")
    yield paragraph(f"{wait} without a place." if record["unplaced"] else "Nothing is left waiting.")
    if record.get("notCounted"):
        kinds = ", ".join(f"{count} {kind}" for kind, count in record["notCounted"].items())
        yield paragraph(f"Not counted in this plan: {kinds}.")
    for error in record.get("errors", ()):
        yield paragraph(f"{error['path']}: {error['message']}" if error["path"] else error["message"])


def _site(site: SitePlan, record: Record) -> Iterator[Html]:
    shown = [each for each in record["workloads"] if each["replicas"] or each["running"]]
    listed = sorted(shown, key=lambda each: not each["unplaced"])[:MOST_ROWS]
    title = f"Cluster {record['cluster']}" if record["cluster"] else "Cluster"
    yield table(
        f"{title}: {many(record['nodes'], 'node')}",
        ("workload", "replicas", "runs", "queue", "new on nodes", "waits", "why"),
        [_row(each) for each in listed],
    )
    if len(shown) > len(listed):
        yield paragraph(f"… and {many(len(shown) - len(listed), 'more workload')}")
    names = site.site.nodes.names
    if names and len(names) <= MOST_NODES:
        before, after = node_use(site.before), node_use(site.after)
        rows = []
        for name in sorted(names, key=natural_key):
            row = site.site.nodes.rows[name]
            old, new = float(before[row]), float(after[row])
            rows.append(
                (name, f"{new:.0%}", bar([(old, BLUE), (new - old, GREEN)], f"{name}: {old:.0%}, then {new:.0%}"))
            )
        yield table("Nodes: fullest resource, now and new", ("node", "use", ""), rows)
    queues = [each for each in record["queues"] if any(amount != "0" for amount in each["deserved"].values())]
    if len(queues) > 1:
        shares = [(each["queue"], _amounts(each["deserved"]), _amounts(each["allocated"])) for each in queues]
        yield table("Queues", ("queue", "deserved", "gets"), shares)


def _row(each: Record) -> tuple[object, ...]:
    new: dict[str, int] = {}
    for part in each["parts"]:
        for node, count in part["placements"].items():
            new[node] = new.get(node, 0) + count
    where = counts_text(new) if len(new) <= MOST_SPOTS else f"{sum(new.values())} on {len(new)} nodes"
    why = "; ".join(finding["message"] for finding in each["findings"])
    spots = where if new else "–"
    return each["workload"], each["replicas"], each["running"], each["queue"], spots, each["unplaced"] or "", why


def _amounts(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in amounts.items() if text != "0" and name != "pods")
