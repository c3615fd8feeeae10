"""`fairlead diff`: two plans, or two sets of manifests, side by side."""

from pathlib import Path
from typing import Any

import click

from fairlead.cli.configured import config_option, plan_settings
from fairlead.cli.main import EXIT_OK
from fairlead.cli.output import chosen, console, output_option, write_record
from fairlead.model.errors import InputError


@click.command(
    "diff",
    epilog="""
\b
Examples:
  fairlead diff yesterday.json today.json
  fairlead diff examples/shop plan.json -o json
""",
)
@click.argument("before")
@click.argument("after")
@config_option
@output_option()
def command(before: str, after: str, config: str | None, output: str | None) -> int:
    """Show what changes from BEFORE to AFTER: moves, what is gained and what is lost.

    Each is a plan (the JSON of `fairlead plan -o json`) or manifests, which are planned first.
    """
    from fairlead.engine.compare import compare

    record = compare(_plan(before, config), _plan(after, config))
    form = chosen(output)
    if form == "table":
        from fairlead.pictures.changes import draw_changes

        draw_changes(console(), record, "before", "after")
    else:
        write_record(record, form)
    return EXIT_OK


def _plan(source: str, config: str | None) -> dict[str, Any]:
    """The record of a plan: read where the file is one, made where it is manifests."""
    from fairlead.cli.plan import read
    from fairlead.cli.verb import read as read_bytes
    from fairlead.engine.plan import plan
    from fairlead.engine.record import plan_record
    from fairlead.text.documents import Document, documents

    if not Path(source).is_dir():
        for document in documents(read_bytes(source), source):
            value = document.value if isinstance(document, Document) else None
            if isinstance(value, dict) and ("sites" in value or "plan" in value):
                # What a what-if prints is a comparison, with the changed plan under `plan`.
                return _checked(value.get("plan", value), source)
            break
    _, view = read((source,), strict=False, settings=plan_settings(config))
    return plan_record(plan(view))


def _checked(value: dict[str, Any], source: str) -> dict[str, Any]:
    """A plan that lacks what a comparison reads is bad input, told before anything is compared."""
    try:
        for site in value["sites"]:
            use = site["use"]["after"]
            _ = site["cluster"], site["nodes"], use["lowest"], use["mean"], use["highest"]
            for each in site["workloads"]:
                _ = each["kind"], each["workload"], each["unplaced"] + 0, dict(each["runs"])
                _ = [dict(part["placements"]) for part in each["parts"]]
        _ = value["unplaced"] + 0
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            source, f"is not a whole plan ({type(error).__name__}: {error}); expected the JSON of fairlead plan"
        ) from None
    return value
