"""Differences between two plans, drawn."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from fairlead.pictures.counts import MOST_SPOTS, counts_text, many

if TYPE_CHECKING:
    from rich.console import Console


def draw_changes(
    screen: "Console", record: Mapping[str, Any], before: str, after: str, stopped: Sequence[str] = ()
) -> None:
    """A line a workload that changes, then the sites, the sum, and sentences about budgets that stop it."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("workload", "leaves", "comes to", "moves", f"waits {before}", after):
        table.add_column(column, justify="right" if column not in ("workload", "leaves", "comes to") else "left")
    for row in record["workloads"]:
        where = f"{row['cluster']}: " if row["cluster"] else ""
        waits = row["waits"]
        table.add_row(
            escape(where + row["workload"]),
            escape(spots_text(row["from"])),
            escape(spots_text(row["to"])),
            str(row["moves"] or ""),
            str(waits["before"] or ""),
            str(waits["after"] or ""),
        )
    for line in fleet_lines(record):
        screen.print(escape(line))
    if record["workloads"]:
        screen.print(table)
    for site in record["sites"]:
        screen.print(escape(site_text(site, before, after)))
    screen.print(sum_text(record, before, after))
    for sentence in stopped:
        screen.print(sentence, markup=False)


def sum_text(record: Mapping[str, Any], before: str, after: str) -> str:
    """How many moves there are, and how many replicas wait before and after."""
    unplaced = record["unplaced"]
    waits = "1 waits" if unplaced["before"] == 1 else f"{unplaced['before']} wait"
    return f"{many(record['moves'], 'move')}; {waits} {before}, {unplaced['after']} {after}."


def fleet_lines(record: Mapping[str, Any]) -> list[str]:
    """Of each workload that is divided in another way the clusters that get more or fewer."""
    return [
        f"Fleet: {row['workload']}: "
        + ", ".join(f"{name} {count['before']} → {count['after']}" for name, count in row["clusters"].items())
        for row in record.get("fleet", ())
    ]


def spots_text(counts: Mapping[str, int]) -> str:
    if len(counts) > MOST_SPOTS:
        return f"{sum(counts.values())} on {len(counts)} nodes"
    return counts_text(counts) if counts else "–"


def site_text(site: Mapping[str, Any], before: str, after: str) -> str:
    name = f"Cluster {site['cluster']}" if site["cluster"] else "Cluster"
    parts = []
    for word, when in ((before, "before"), (after, "after")):
        use, nodes, taking = site["use"][when], site["nodes"][when], site["openNodes"][when]
        if use is not None:
            whole = many(nodes, "node")
            there = whole if taking == nodes else f"{taking} of {whole}"
            even = site["evenness"][when]
            more = "" if even is None else f", evenness {even:.2f}"
            parts.append(f"{word} {there}, use {use['lowest']}–{use['highest']} %, mean {use['mean']} %{more}")
    return f"{name}: " + "; ".join(parts)
