"""The page as one file: script, style and records inside, nothing from the network, readable offline."""

import base64
import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from fairlead.engine.plan import Plan
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.model.snapshot import Snapshot
from fairlead.sim.events import Timeline
from fairlead.sim.film import Film
from fairlead.sim.run import Run
from fairlead.web.about import about_record
from fairlead.web.assets import SCRIPT, STYLE, asset, document
from fairlead.web.records.workload import workload_record, workloads_record
from fairlead.web.replay import Replay
from fairlead.web.views import VIEWS, Look, Record

MOST_PATHS = 500
"""Workloads whose way through the levels is saved; the others are in the lists."""


def plan_file(found: Catalogue, view: Snapshot, decided: Plan, title: str) -> str:
    """Every view of a plan, and the path of each workload."""
    look = Look(title=title, found=found, view=view, decided=decided)
    keys = [each["workload"] for each in workloads_record(decided)["workloads"]]
    records: Record = {"about": about_record(title, None, live=False)}
    records |= {name: make(look) for name, make in VIEWS.items()}
    records["paths"] = {key: workload_record(decided, key, found) for key in keys[:MOST_PATHS]}
    return saved(title, records)


def simulation_file(story: Timeline, runs: Sequence[Run], films: Mapping[str, Film]) -> str:
    """The simulation's view."""
    replay = Replay(story, runs, films)
    title = story.name or "Simulation"
    return saved(title, {"about": about_record(title, replay, live=False), "simulation": replay.record()})


def saved(title: str, records: Record) -> str:
    """One file. What it may do is in it: its own script and style and nothing else, by their hashes."""
    script, style = asset(SCRIPT).replace("</script", "<\\/script"), asset(STYLE)
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:"
    # No text in the records can end the element they are in.
    data = msgspec.json.encode(records).decode().replace("<", "\\u003c")
    return document(
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>',
        f'<script type="application/json" id="records">{data}</script><script>{script}</script>',
        title,
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
