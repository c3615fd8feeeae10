"""The report as one HTML file: no scripts, nothing from the network, light or dark as the reader's system is."""

from html import escape
from typing import Any

from fairlead.sim.chart import COLOURS, Line, chart
from fairlead.sim.moments import span_text

CHARTS = (
    ("use", "Use of cpu", "The part of all cpu that is asked for by running replicas.", 1.0),
    ("evenness", "Evenness of the nodes", "Jain's index of the nodes' use: 1 where all are equally used.", 1.0),
    ("fairness", "Fairness of the namespaces", "Jain's index of shares per weight, while jobs wait.", 1.0),
    ("waiting", "Waiting replicas", "Asked for and not running.", None),
    ("nodes", "Nodes", "Nodes that are up.", None),
)

MOST_NAMESPACES = 6

STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6b7b; --ground: #fbfbf9; --grid: #dfe3e6;
  --c0: #0b6fb8; --c1: #d1581a; --c2: #26804a; --c3: #8a44b5; --c4: #a8842c; --c5: #b32d5e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ecf1; --soft: #9aa9b8; --ground: #14191f; --grid: #2d3640;
  --c0: #5db2f2; --c1: #f2935c; --c2: #67c98d; --c3: #c490ea; --c4: #dcbb66; --c5: #f07ba6; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 0; }
p { color: var(--soft); margin: 0 0 .5rem; }
table { border-collapse: collapse; margin: 1.5rem 0; } th, td { padding: .3rem 1rem .3rem 0; text-align: right; }
th:first-child { text-align: left; font-weight: normal; color: var(--soft); }
tr { border-bottom: 1px solid var(--grid); }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--soft); } .grid { stroke: var(--grid); }
.line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
"""


def page(record: dict[str, Any]) -> str:
    """The whole file from the record of a simulation. It is well-formed XML as well."""
    policies = record["policies"]
    title = escape(record["scenario"] or "Simulation")
    ended = " Interrupted: the numbers end where the simulation was." if record["interrupted"] else ""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en" xmlns="http://www.w3.org/1999/xhtml">',
            f'<head><meta charset="utf-8"/><title>{title}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<style>{STYLE}{_colours()}</style></head>",
            f"<body><h1>{title}</h1>",
            f"<p>{span_text(record['seconds'] * 1000)}, {record['nodes']} nodes, {record['arrivals']} arrivals, "
            f"{record['outages']} nodes lost on the way, seed {record['seed']}.{ended}</p>",
            _table(policies),
            *(
                _section(name, heading, words, most, policies, max(record["seconds"] / 3600, 1e-6))
                for name, heading, words, most in CHARTS
            ),
            "</body></html>",
        ]
    )


def _colours() -> str:
    return "".join(
        f".line.c{n} {{ stroke: var(--c{n}); }} .key.c{n} {{ background: var(--c{n}); }}" for n in range(COLOURS)
    )


def _table(policies: list[dict[str, Any]]) -> str:
    heads = "".join(
        f'<th><span class="key c{place % COLOURS}"></span>{escape(each["policy"])}</th>'
        for place, each in enumerate(policies)
    )
    rows = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for name, *cells in rows_of(policies)
    )
    return f"<table><tr><th></th>{heads}</tr>{rows}</table>"


def rows_of(policies: list[dict[str, Any]]) -> list[list[str]]:
    """The measures as text: a name, then a cell for each policy."""
    return [
        ["use of cpu", *(_percent(each["utilisation"]) for each in policies)],
        ["evenness of nodes", *(f"{each['evenness']:.3f}" for each in policies)],
        ["fairness of namespaces", *(f"{each['fairness']:.3f}" for each in policies)],
        ["waiting, mean", *(span_text(each["waiting"]["mean"] * 1000) for each in policies)],
        ["waiting, 95 of 100", *(span_text(each["waiting"]["p95"] * 1000) for each in policies)],
        ["waiting, longest", *(span_text(each["waiting"]["max"] * 1000) for each in policies)],
        *_by_namespace(policies),
        ["running of asked for", *(_percent(each["running"]) for each in policies)],
        ["on demand", *(_percent(each["onDemandShare"]) for each in policies)],
        ["evicted", *(str(each["evictions"]) for each in policies)],
        *(
            [["evicted for others", *(str(each["preemptions"]) for each in policies)]]
            if _any_preempted(policies)
            else []
        ),
        ["moved", *(str(each["moves"]) for each in policies)],
        ["completed", *(str(each["completed"]) for each in policies)],
        ["waiting at the end", *(str(each["unplaced"]) for each in policies)],
    ]


def _any_preempted(policies: list[dict[str, Any]]) -> bool:
    return any(each["preemptions"] for each in policies)


def _by_namespace(policies: list[dict[str, Any]]) -> list[list[str]]:
    """The mean wait of each namespace, where there are a few of them."""
    names = list(dict.fromkeys(name for each in policies for name in each["waitingByNamespace"]))
    if not 1 < len(names) <= MOST_NAMESPACES:
        return []
    nothing = {"mean": 0.0}
    return [
        [
            f"waiting, mean of {name}",
            *(span_text(each["waitingByNamespace"].get(name, nothing)["mean"] * 1000) for each in policies),
        ]
        for name in names
    ]


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _section(
    name: str, heading: str, words: str, most: float | None, policies: list[dict[str, Any]], end: float
) -> str:
    hours = [second / 3600 for second in max((each["series"]["time"] for each in policies), key=len)]
    lines = [Line(name=each["policy"], values=each["series"][name]) for each in policies]
    return f"<h2>{heading}</h2><p>{words}</p>{chart(heading, hours, lines, end=end, most=most)}"
