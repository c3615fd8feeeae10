"""A what-if for a notebook: the workloads that change, and the clusters before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.pictures.changes import fleet_lines, site_text, spots_text, sum_text
from fairlead.pictures.html.parts import Html, joined, paragraph, table


def picture(record: Mapping[str, Any], sentences: Sequence[str]) -> Html:
    """A row a workload that changes."""
    rows = [
        (
            f"{row['cluster']}: {row['workload']}" if row["cluster"] else row["workload"],
            spots_text(row["from"]),
            spots_text(row["to"]),
            row["moves"] or "",
            row["waits"]["before"] or "",
            row["waits"]["after"] or "",
        )
        for row in record["workloads"]
    ]
    lines = (
        *fleet_lines(record),
        *(site_text(site, "now", "then") for site in record["sites"]),
        sum_text(record, "now", "then"),
        *sentences,
    )
    heads = ("workload", "leaves", "comes to", "moves", "waits now", "then")
    return joined((table("What would change", heads, rows), *map(paragraph, lines)))
