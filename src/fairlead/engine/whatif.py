"""What if: a snapshot changed as a person would change the cluster. The answer is the plan of the changed snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairlead.engine.tier_parts import on_demand_nodes, spot_nodes
from fairlead.model.claims import SiteVolumes, WorkloadClaims
from fairlead.model.columns import Bool, Int, flags, frozen, ints
from fairlead.model.daemons import Daemon
from fairlead.model.division import DivisionAsk
from fairlead.model.errors import InputError
from fairlead.model.nodestate import ABSENT, LabelColumn, NodeState
from fairlead.model.order import natural_sorted
from fairlead.model.population import Population
from fairlead.model.selectors import CLOSING, Taint
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.tiers import ON_DEMAND, SPOT
from fairlead.model.workload import Workload

HOSTNAME = "kubernetes.io/hostname"
SHORT = {
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
}
"""Labels that may be named by one word."""
MOST_ADDED = 100_000
"""Nodes added at once: twenty times as many as a cluster of Kubernetes may have."""


def drained(snapshot: Snapshot, node: str) -> Snapshot:
    """The node is cordoned and everything on it has to go elsewhere, but what belongs to the node."""
    masks = [np.array([name == node for name in site.nodes.names], dtype=np.bool_) for site in snapshot.sites]
    return _without_all(snapshot, masks, "--drain", f"there is no node {node!r}", fixed_stay=True)


def lost(snapshot: Snapshot, label: str, value: str, among: Snapshot | None = None) -> Snapshot:
    """Every node with this value of the label is gone: nothing is spread over what only it was in.

    Where nodes were added since, these are the ones `among` which they are looked for.
    """
    there = among or snapshot
    masks, missing = _of_tier(there, value) if label == "tier" else _labelled(there, label, value)
    return _without_all(snapshot, masks, "--lose", missing, gone=True)


def away(snapshot: Snapshot, zone: str) -> Snapshot:
    """The nodes of the zone are empty and take nothing new, and will come back."""
    masks, missing = _labelled(snapshot, "zone", zone)
    return _without_all(snapshot, masks, "--upgrade", missing)


def _labelled(snapshot: Snapshot, label: str, value: str) -> tuple[list[Bool], str]:
    """By site the nodes with this value of the label, and what to say where there are none."""
    key = SHORT.get(label, label)

    def chosen(nodes: NodeState) -> Bool:
        column = nodes.labels.get(key)
        if column is None or value not in column.values:
            return np.zeros(len(nodes.names), dtype=np.bool_)
        here: Bool = column.codes == column.values.index(value)
        return here

    there = sorted({each for site in snapshot.sites for each in _values(site.nodes, key)})
    known = f"expected one of {', '.join(there[:20])}" if there else f"no node has the label {key}"
    return [chosen(site.nodes) for site in snapshot.sites], f"there is no node with {key}={value}; {known}"


def _of_tier(snapshot: Snapshot, value: str) -> tuple[list[Bool], str]:
    """By site the nodes of the tier, by whatever label the site tells its tiers apart."""
    if value not in (ON_DEMAND, SPOT):
        raise InputError("--lose", f"there is no tier {value!r}; expected {ON_DEMAND} or {SPOT}")
    chosen = on_demand_nodes if value == ON_DEMAND else spot_nodes
    keys = natural_sorted({key for site in snapshot.sites for key in site.tiers.keys})
    known = f"tiers are told apart by {', '.join(keys)}" if keys else "no node carries a label that tells tiers apart"
    return [chosen(site.nodes, site.tiers) for site in snapshot.sites], f"there is no {value} node; {known}"


def zones(snapshot: Snapshot) -> tuple[str, ...]:
    """The zones that nodes are in, by name."""
    found = {value for site in snapshot.sites for value in _values(site.nodes, SHORT["zone"])}
    return tuple(sorted(found))


def nodes_of(snapshot: Snapshot, label: str, value: str) -> frozenset[str]:
    """The names of the nodes with this value of the label."""
    key, found = SHORT.get(label, label), set()
    for site in snapshot.sites:
        column = site.nodes.labels.get(key)
        code = None if column is None else column.code_of.get(value)
        if column is not None and code is not None:
            found |= {site.nodes.names[row] for row in np.flatnonzero(column.codes == code).tolist()}
    return frozenset(found)


def extended(snapshot: Snapshot, count: int, like: str) -> Snapshot:
    """`count` more nodes like the one named, empty and open."""
    if not 0 <= count <= MOST_ADDED:
        raise InputError("--add-nodes", f"{count} nodes; expected at most {MOST_ADDED}")
    found = False
    sites = []
    for site in snapshot.sites:
        if like in site.nodes.rows:
            found = True
            site = _with_nodes(site, count, site.nodes.rows[like])
        sites.append(site)
    if not found:
        raise InputError("--like", f"there is no node {like!r}")
    return replace(snapshot, sites=tuple(sites))


def replicas_asked(snapshot: Snapshot) -> dict[str, int]:
    """By KIND/NAMESPACE/NAME, every workload that may be scaled; of one in several clusters the most."""
    found: dict[str, int] = {}
    own = [workload for site in snapshot.sites for workload in site.workloads]
    for workload in (*own, *(workload for workload, _ in snapshot.divided)):
        found[workload.key] = max(found.get(workload.key, 0), workload.replicas)
    return found


def scaled(snapshot: Snapshot, name: str, replicas: int) -> Snapshot:
    """The workload (as a person calls it) asks for so many replicas."""
    if replicas < 0:
        raise InputError("--scale", f"{name}={replicas} is negative; expected a number of replicas")
    known = {workload.key: workload for site in snapshot.sites for workload in site.workloads}
    known |= {workload.key: workload for workload, _ in snapshot.divided}
    meant = [workload.key for workload in known.values() if workload.is_called(name)]
    if len(meant) != 1:
        raise InputError("--scale", _not_one(name, meant, [workload.title for workload in known.values()]))

    def grown(workload: Workload) -> Workload:
        return replace(workload, replicas=replicas) if workload.key == meant[0] else workload

    def asked(workload: Workload, ask: DivisionAsk) -> DivisionAsk:
        return replace(ask, workload=replace(ask.workload, replicas=replicas)) if workload.key == meant[0] else ask

    return replace(
        snapshot,
        sites=tuple(replace(site, workloads=tuple(map(grown, site.workloads))) for site in snapshot.sites),
        divided=tuple((grown(workload), asked(workload, ask)) for workload, ask in snapshot.divided),
    )


def _not_one(name: str, meant: Sequence[str], titles: Iterable[str]) -> str:
    if meant:
        return f"{name!r} may be {' or '.join(natural_sorted(meant))}; expected KIND/NAMESPACE/NAME"
    return f"there is no workload {name!r}; there are {', '.join(natural_sorted(set(titles))[:20]) or 'none'}"


def weighted(snapshot: Snapshot, namespace: str, weight: int) -> Snapshot:
    """The namespace has this weight."""
    if weight < 1:
        raise InputError("--weight", f"{namespace}={weight}; expected a weight of 1 or more")
    known = {workload.namespace for site in snapshot.sites for workload in site.workloads}
    known |= {workload.namespace for workload, _ in snapshot.divided}
    if namespace not in known:
        there = ", ".join(natural_sorted(known)[:20]) or "none"
        raise InputError("--weight", f"no workload is in the namespace {namespace!r}; there are {there}")
    return replace(
        snapshot,
        sites=tuple(replace(site, weights={**site.weights, namespace: weight}) for site in snapshot.sites),
    )


def _values(nodes: NodeState, key: str) -> tuple[str, ...]:
    column = nodes.labels.get(key)
    return () if column is None else column.values


def _without_all(
    snapshot: Snapshot,
    masks: Sequence[Bool],
    option: str,
    missing: str,
    *,
    fixed_stay: bool = False,
    gone: bool = False,
) -> Snapshot:
    if not any(mask.any() for mask in masks):
        raise InputError(option, missing)
    sites = tuple(
        _without(site, np.pad(mask, (0, len(site.nodes.names) - len(mask))), fixed_stay, gone) if mask.any() else site
        for site, mask in zip(snapshot.sites, masks, strict=True)
    )
    return replace(snapshot, sites=sites)


def _without(site: Site, mask: Bool, fixed_stay: bool, gone: bool) -> Site:
    """The site with nothing on the chosen nodes, which take nothing new; where fixed ones stay, with these alone.

    Nodes that are gone keep their rows, and of their labels those that tell tiers apart.
    """
    nodes, population = site.nodes, site.population
    held = np.zeros_like(nodes.used) if site.fixed_used is None else site.fixed_used
    stays = ~mask[population.rows]
    stays[: site.fixed] |= fixed_stay
    daemons = site.daemons if fixed_stay else tuple(_daemon_without(each, mask) for each in site.daemons)
    return replace(
        site,
        nodes=replace(
            nodes,
            used=ints(np.where(mask[:, None], held if fixed_stay else 0, nodes.used)),
            labels=_labels_left(nodes.labels, mask, site.tiers.keys) if gone else nodes.labels,
            unschedulable=flags(nodes.unschedulable | mask),
        ),
        population=Population(
            residents=population.residents,
            codes=ints(population.codes[stays]),
            rows=ints(population.rows[stays]),
            leaving=flags(population.leaving[stays]),
            namespaces=population.namespaces,
        ),
        present=_masked(site.present, mask) | {each.workload.key: each.running for each in daemons},
        required=_masked(site.required, mask),
        claims={key: _unplaced(each, mask) for key, each in site.claims.items()},
        attached=replace(site.attached, held=tuple(each for each in site.attached.held if not mask[each.row])),
        daemons=daemons,
        fixed=int(stays[: site.fixed].sum()),
        fixed_used=ints(np.where(mask[:, None] & (not fixed_stay), 0, held)),
    )


def _labels_left(labels: Mapping[str, LabelColumn], mask: Bool, kept: Iterable[str]) -> dict[str, LabelColumn]:
    """The labels without those of the chosen nodes, but for some keys; values that no node has are left out."""
    left = dict(labels)
    for key in labels.keys() - set(kept):
        codes, values = labels[key].codes, labels[key].values
        used = np.unique(codes[~mask & (codes != ABSENT)])
        column = np.full(len(codes), ABSENT, dtype=np.int32)
        column[~mask] = np.where(codes[~mask] == ABSENT, ABSENT, np.searchsorted(used, codes[~mask]))
        left[key] = LabelColumn(frozen(column), tuple(values[code] for code in used.tolist()))
    return left


def _unplaced(claims: WorkloadClaims, mask: Bool) -> WorkloadClaims:
    """Replicas of the chosen nodes wait again, with the claims they have."""
    gone = (replace(each, row=-1) if each.row >= 0 and mask[each.row] else each for each in claims.replicas)
    return replace(claims, replicas=tuple(gone))


def _daemon_without(daemon: Daemon, mask: Bool) -> Daemon:
    """Nodes that are gone have no daemons, and want none."""
    return replace(daemon, wanted=flags(daemon.wanted & ~mask), running=ints(np.where(mask, 0, daemon.running)))


def _masked(columns: Mapping[str, Int], mask: Bool) -> dict[str, Int]:
    return {key: ints(np.where(mask, 0, column)) for key, column in columns.items()}


def _with_nodes(site: Site, count: int, like: int) -> Site:
    nodes = site.nodes
    names = [f"{nodes.names[like]}-more-{number}" for number in range(1, count + 1)]
    rows = np.concatenate([np.arange(len(nodes.names)), np.full(count, like)])
    used = nodes.used[rows].copy()
    used[len(nodes.names) :] = 0
    fresh = np.arange(len(rows)) >= len(nodes.names)

    def longer(columns: Mapping[str, Int]) -> dict[str, Int]:
        return {key: ints(np.concatenate([column, np.zeros(count, dtype=np.int64)])) for key, column in columns.items()}

    return replace(
        site,
        nodes=replace(
            nodes,
            names=(*nodes.names, *names),
            allocatable=ints(nodes.allocatable[rows]),
            used=ints(used),
            labels={key: _label(key, column, rows, names) for key, column in nodes.labels.items()},
            taint_profile=ints(np.where(fresh, len(nodes.taint_profiles), nodes.taint_profile[rows])),
            taint_profiles=(*nodes.taint_profiles, _opened(nodes.taint_profiles[int(nodes.taint_profile[like])])),
            unschedulable=flags(nodes.unschedulable[rows] & ~fresh),
            rows={**nodes.rows, **{name: len(nodes.names) + place for place, name in enumerate(names)}},
        ),
        present=longer(site.present),
        required=longer(site.required),
        attached=_like_of(site.attached, nodes.names[like], names),
        daemons=tuple(
            replace(each, wanted=flags(each.wanted[rows]), running=longer({"": each.running})[""])
            for each in site.daemons
        ),
        fixed_used=None if site.fixed_used is None else ints(np.where(fresh[:, None], 0, site.fixed_used[rows])),
    )


def _opened(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """The taints of a new node: it is ready, and nobody has cordoned it."""
    return tuple(each for each in taints if each.key not in CLOSING)


def _like_of(attached: SiteVolumes, like: str, names: Sequence[str]) -> SiteVolumes:
    """Drivers say of the new nodes what they say of the one that they are like."""
    limits = {**attached.limits, **(dict.fromkeys(names, attached.limits[like]) if like in attached.limits else {})}
    known = [(driver, keys) for (driver, node), keys in attached.topology.items() if node == like]
    topology = {**attached.topology, **{(driver, name): keys for driver, keys in known for name in names}}
    return replace(attached, limits=limits, topology=topology)


def _label(key: str, column: LabelColumn, rows: Int, names: list[str]) -> LabelColumn:
    """The column over more rows; a new node's host name is its own."""
    codes = column.codes[rows].copy()
    values = column.values
    if key == HOSTNAME and names and codes[-1] != ABSENT:
        codes[-len(names) :] = np.arange(len(values), len(values) + len(names))
        values = (*values, *names)
    return LabelColumn(frozen(codes), values)
