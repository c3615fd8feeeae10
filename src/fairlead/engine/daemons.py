"""What runs on every node takes its room before anything else (docs/decisions/0261)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from fairlead.engine.refusals import no_node
from fairlead.engine.shape_columns import sparse
from fairlead.engine.site_plan import PartPath, Path
from fairlead.engine.tier_parts import TierPart, TierSplit
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.levels.node.constraints.feasible import Constraints, rejections
from fairlead.levels.queue.result import JobRow
from fairlead.model.columns import flags, ints
from fairlead.model.daemons import Daemon
from fairlead.model.order import natural_key
from fairlead.model.snapshot import Site


def settled(site: Site) -> tuple[Site, tuple[Path, ...]]:
    """The site with every daemon on the nodes that have room for it, and the decision about each."""
    if not site.daemons:
        return site, ()
    working = WorkingNodes(site.nodes, site.population)
    paths = tuple(_place(site, working, each) for each in _in_turn(site.daemons))
    added = working.state.used - site.nodes.used
    held = added if site.fixed_used is None else site.fixed_used + added
    return replace(site, nodes=working.state, population=working.population, fixed_used=ints(held)), paths


def _in_turn(daemons: Iterable[Daemon]) -> Iterator[Daemon]:
    yield from sorted(daemons, key=lambda each: (-each.workload.priority, natural_key(each.workload.key)))


def _place(site: Site, working: WorkingNodes, daemon: Daemon) -> Path:
    """One replica on each node that lacks its own. Being cordoned does not keep it away: `wanted` has judged that."""
    workload = daemon.workload
    missing = daemon.wanted & (daemon.running == 0)
    open_nodes = replace(working.state, unschedulable=flags(np.zeros(len(missing), dtype=np.bool_)))
    codes = Constraints(open_nodes, workload.shape, working.population).codes()
    counts = (missing & (codes == 0)).astype(np.int64)
    working.shift(workload.shape, sparse(counts), 1)
    running, need = int(daemon.running.sum()), int(missing.sum())
    part = TierPart(workload=workload, tier="", shape=workload.shape, running=running, need=need)
    refused = missing & (codes != 0)
    names = tuple(name for name, out in zip(site.nodes.names, refused.tolist(), strict=True) if out)
    rejected = rejections(codes[refused], names)
    path = PartPath(part=part, granted=need, counts=counts, rejected=rejected)
    unplaced = need - path.placed
    why = no_node((path,), unplaced, need)
    return Path(
        workload=workload,
        site=site.name,
        replicas=running + need,
        split=TierSplit(parts=(part,)),
        job=JobRow(
            name=workload.key,
            queue="",
            namespace=workload.namespace,
            running=running,
            admitted=running + need,
            pending=0,
            finding=None,
        ),
        parts=(path,),
        findings=(why,) if unplaced else (),
    )
