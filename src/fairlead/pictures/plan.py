"""The plan as a person reads it: one short section a level, numbers first, reasons under what is unplaced."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from fairlead.dataclass import dataclass
from fairlead.engine.evenness import evenness, node_use
from fairlead.engine.record import served
from fairlead.engine.site_plan import PartPath, Path, SitePlan, spots
from fairlead.engine.tier_parts import tier_names
from fairlead.kube.manifests.records import unreached
from fairlead.model.amounts import bytes_text, quantities
from fairlead.model.order import natural_key
from fairlead.pictures.counts import MOST_SPOTS, counts_text, many, names_text

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.engine.plan import Divided, Plan
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.levels.disk.balance import Balance

BAR = 24
MOST_NODES = 40
"""Sites with more nodes than this are summed up instead of drawn node by node."""


MOST_ROWS = 50
"""Workloads that are listed unless more are asked for; those that wait come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanListing:
    """Which workloads are listed: only those that wait, at most `rows` of each site (0: all).

    `wide` adds what one replica asks for, kind and priority, and names every node.
    """

    waiting: bool = False
    rows: int = MOST_ROWS
    wide: bool = False


PLAIN = PlanListing()


def draw(screen: "Console", plan: "Plan", found: "Catalogue", listing: PlanListing = PLAIN) -> None:
    """Print the whole report."""
    if plan.divided:
        _fleet(screen, plan.divided)
        screen.print()
    for site in plan.sites:
        _site(screen, site, listing)
        screen.print()
    for name, decision in plan.storage.items():
        _storage(screen, name, decision)
        screen.print()
    _summary(screen, plan, found)


def _table(title: str, *columns: str, right: Iterable[str] = ()) -> Table:
    table = Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def _fleet(screen: "Console", divided: tuple["Divided", ...]) -> None:
    table = _table(
        "Fleet: how many replicas each cluster gets", "workload", "replicas", "clusters", "how", right=["replicas"]
    )
    for each in divided:
        division = each.division
        drawn = ", ".join(name for draw in division.trace.draws for name in draw.winners)
        how = division.rule + (f"; the remainder went to {drawn}" if drawn else "")
        cells = (each.workload.title, str(each.workload.replicas), counts_text(division.placements), how)
        table.add_row(*map(escape, cells))
    screen.print(table)
    _reasons(
        screen,
        ((each.workload.title, each.division.finding.sentence) for each in divided if each.division.finding),
    )


def _listed(plan: SitePlan, listing: PlanListing) -> tuple[list[Path], int]:
    """The workloads to list, in their order, and how many are left out: those that wait are kept longest."""
    shown = [
        path
        for path in plan.paths
        if path.unplaced or (not listing.waiting and (path.replicas or any(each.part.running for each in path.parts)))
    ]
    if not listing.rows or len(shown) <= listing.rows:
        return shown, 0
    kept = {id(path) for path in sorted(shown, key=lambda path: not path.unplaced)[: listing.rows]}
    return [path for path in shown if id(path) in kept], len(shown) - listing.rows


def _site(screen: "Console", plan: SitePlan, listing: PlanListing) -> None:
    name = f"Cluster {plan.site.name}" if plan.site.name else "Cluster"
    table = _table(
        f"{name}: {many(len(plan.site.nodes.names), 'node')}",
        "workload",
        "replicas",
        "runs",
        "on demand",
        "queue",
        "new on nodes",
        "waits",
        *(("kind", "priority", "each asks for") if listing.wide else ()),
        right=["replicas", "runs", "on demand", "waits", "priority"],
    )
    shown, left_out = _listed(plan, listing)
    titles = Counter(path.workload.title for path in plan.paths)
    for path in shown:
        table.add_row(*map(escape, _row(path, _called(path, titles), plan.site.nodes.names, listing)))
    screen.print(table)
    if left_out:
        screen.print(f"[dim]… and {many(left_out, 'more workload')}; --rows 0 lists all[/dim]")
    _reasons(
        screen,
        (
            (_called(path, titles), finding.sentence)
            for path in plan.paths
            for finding in (*path.split.warnings, *path.findings)
        ),
    )
    if sum(any(row.deserved.values()) for row in plan.sharing.queues) > 1:
        _queues(screen, plan)
    _nodes(screen, plan, listing)


def _called(path: Path, titles: Mapping[str, int]) -> str:
    """NAMESPACE/NAME, with the kind where several workloads of the site are called so."""
    workload = path.workload
    return workload.title if titles[workload.title] == 1 else f"{workload.kind.lower()}/{workload.title}"


def _row(path: Path, called: str, names: tuple[str, ...], listing: PlanListing) -> tuple[str, ...]:
    target = path.split.target
    workload = path.workload
    return (
        called,
        str(path.replicas),
        str(sum(each.part.running for each in path.parts)),
        "–" if target is None else str(target),
        path.job.queue,
        " · ".join(filter(None, (_spots(each, names, listing) for each in path.parts))) or "–",
        str(path.unplaced) if path.unplaced else "",
        *((workload.kind, str(workload.priority), _amounts(dict(workload.shape.request))) if listing.wide else ()),
    )


def _spots(path: PartPath, names: tuple[str, ...], listing: PlanListing) -> str:
    counts = spots(path, names)
    if not counts:
        return ""
    few = listing.wide or len(counts) <= MOST_SPOTS
    return counts_text(counts) if few else f"{sum(counts.values())} on {len(counts)} nodes"


def _queues(screen: "Console", plan: SitePlan) -> None:
    table = _table(
        "Queues: what each deserves and gets", "queue", "namespace", "weight", "deserved", "gets", right=["weight"]
    )
    for row in plan.sharing.queues:
        if not any(row.allocated.values()) and not any(row.deserved.values()):
            continue
        table.add_row(escape(row.name), "", "", _amounts(row.deserved), _amounts(row.allocated))
        for space in plan.sharing.namespaces:
            if space.queue == row.name:
                table.add_row("", escape(space.namespace), str(space.weight), "", _amounts(space.allocated))
    screen.print(table)


def _amounts(amounts: Mapping[str, int]) -> str:
    shown = {name: value for name, value in amounts.items() if value and name != "pods"}
    return ", ".join(f"{name} {text}" for name, text in quantities(shown).items()) or "nothing"


def _nodes(screen: "Console", plan: SitePlan, listing: PlanListing) -> None:
    names = plan.site.nodes.names
    if names and (listing.wide or len(names) <= MOST_NODES):
        _bars(screen, plan, names)
    if names:
        site = plan.site
        screen.print(site.tiers.sentence(tier_names(site.nodes, site.tiers)), markup=False)
        even = f"{evenness(plan.before):.2f} → {evenness(plan.after):.2f}"
        fair = " → ".join(f"{each:.2f}" for each in served(plan))
        screen.print(f"Evenness of nodes {even}, fairness of namespaces {fair} [dim](1 is even)[/dim]")


def _bars(screen: "Console", plan: SitePlan, names: tuple[str, ...]) -> None:
    before, after = node_use(plan.before), node_use(plan.after)
    table = _table("Nodes: fullest resource (█ now, ▓ new)", "node", "use", "", right=["use"])
    for name in sorted(names, key=natural_key):
        row = plan.site.nodes.rows[name]
        table.add_row(escape(name), f"{after[row]:.0%}", _bar(float(before[row]), float(after[row])))
    screen.print(table)


def _bar(before: float, after: float) -> str:
    """Old use in one shade, new use in another, free room as dots."""
    old = round(min(before, 1) * BAR)
    new = max(round(min(after, 1) * BAR) - old, 0)
    return f"[blue]{'█' * old}[/blue][green]{'▓' * new}[/green][dim]{'·' * (BAR - old - new)}[/dim]"


def _storage(screen: "Console", name: str, decision: "Balance") -> None:
    title = (
        f"Storage of {name}: a disk for each storage replica" if name else "Storage: a disk for each storage replica"
    )
    table = _table(title, "volume", "node", "disk", "usable before", "after", right=["usable before", "after"])
    for each in decision.placed:
        table.add_row(
            escape(each.volume),
            escape(each.node),
            escape(each.disk),
            _size(int(decision.usable_before_bytes[each.row])),
            _size(int(decision.usable_after_bytes[each.row])),
        )
    screen.print(table)
    _reasons(
        screen,
        ((outcome.volume.name, outcome.finding.sentence) for outcome in decision.outcomes if outcome.finding),
    )


def _size(count: int) -> str:
    return bytes_text(count) if count < 2**30 else f"{count / 2**30:.0f}Gi"


def _reasons(screen: "Console", found: Iterable[tuple[str, str]]) -> None:
    """A line a sentence, with those of whom it is true."""
    said: dict[str, list[str]] = {}
    for who, sentence in found:
        said.setdefault(sentence, []).append(who)
    for sentence, names in said.items():
        screen.print(f"  [yellow]![/yellow] {escape(_names(names))}: {escape(sentence)}")


def _names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_SPOTS} more" if len(names) > MOST_SPOTS else ""
    return names_text(names[:MOST_SPOTS]) + more


def _summary(screen: "Console", plan: "Plan", found: "Catalogue") -> None:
    placed = sum(part.placed for site in plan.sites for path in site.paths for part in path.parts)
    stored = sum(len(each.placed) for each in plan.storage.values())
    moved = many(placed, "replica") + (f" and {many(stored, 'storage replica')}" if stored else "")
    wait = "waits" if plan.unplaced == 1 else "wait"
    left = f", {plan.unplaced} {wait} for the reasons above" if plan.unplaced else ", nothing is left waiting"
    screen.print(f"{moved} placed{left}.")
    for sentence in unreached(found, plan):
        screen.print(f"  [yellow]![/yellow] {escape(sentence)}")
    if found.not_counted:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.not_counted.items()))
        screen.print(f"[dim]Not counted in this plan: {escape(kinds)}.[/dim]")
