"""A scenario made ready to run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairlead.engine.admission import quotas_left
from fairlead.engine.daemons import settled
from fairlead.engine.gangs import RoleGangs
from fairlead.engine.tier_parts import on_demand_nodes, spot_nodes
from fairlead.levels.tier.presets import DETECTED, TierChoice
from fairlead.model.amounts import amount, amounts
from fairlead.model.claims import SiteVolumes, WorkloadClaims
from fairlead.model.columns import Int, flags, ints
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeRecord, NodeState, node_state
from fairlead.model.population import Population
from fairlead.model.queuestate import QueueEntry
from fairlead.model.quotas import NamespaceQuota
from fairlead.model.selectors import integer
from fairlead.model.snapshot import Site
from fairlead.model.tiers import CAPACITY, ON_DEMAND, SPOT, Tiers
from fairlead.model.workload import Workload
from fairlead.sim.durations import milliseconds
from fairlead.sim.events import Arrival, Outage, Scale, Timeline
from fairlead.sim.generate import generated, lives
from fairlead.sim.inputs import APP, ZONE, arrival, request_of, shape_of, tier_of
from fairlead.sim.rng import Draws
from fairlead.sim.scenario import EventIn, NodesIn, Scenario, ScenarioWorkload, SelectIn


def story(
    written: Scenario,
    *,
    site: Site | None = None,
    trace: Sequence[Arrival] = (),
    seed: int | None = None,
    until_ms: int | None = None,
    choice: TierChoice = DETECTED,
) -> Timeline:
    """Everything that happens, worked out beforehand. `site` is the cluster of the scenario's manifests.

    `choice` is how the nodes of the scenario itself are told apart.
    """
    seed = written.seed if seed is None else seed
    until = milliseconds(written.until, "$.until") if until_ms is None else until_ms
    # What runs on every node takes its room before anything arrives.
    then = settled(site)[0] if site is not None else None
    nodes = _nodes(written, then)
    population, fixed = _residents(site, then) if site is not None and then is not None else (Population(), 0)
    tiers = site.tiers if site is not None and len(site.nodes.names) else choice.tiers(nodes.labels.keys())
    arrivals = [
        *(_standing(site) if site else ()),
        *(one for row, each in enumerate(written.workloads) for one in _arrivals(each, f"$.workloads[{row}]")),
        *(
            one
            for row, each in enumerate(written.generate)
            for one in generated(each, seed, until, f"$.generate[{row}]")
        ),
        *trace,
    ]
    if not arrivals:
        raise InputError("$", "nothing ever arrives; expected workloads, generate, a trace or manifests")
    known = {each.workload.title for each in arrivals}
    scales, outages = _events(written.events, nodes, tiers, known, seed)
    for row, life in enumerate(written.lives):
        rows = _matching(nodes, tiers, SelectIn(tier=life.tier), f"$.lives[{row}]").tolist()
        outages.extend(lives(life, rows, seed, until, f"$.lives[{row}]"))
    return Timeline(
        name=written.name,
        seed=seed,
        until_ms=until,
        cycle_ms=max(milliseconds(written.cycle, "$.cycle"), 1),
        nodes=nodes,
        population=population,
        fixed=fixed,
        fixed_used=then.fixed_used if then is not None else None,
        queues=_queues(written, site),
        weights={**(site.weights if site else {}), **written.namespaces},
        arrivals=tuple(arrivals),
        scales=tuple(scales),
        outages=tuple(outages),
        tiers=tiers,
        quotas=tuple(_quotas(site)) if site else (),
        claims={key: _waiting(claims) for key, claims in site.claims.items()} if site else {},
        attached=_others(site) if site else SiteVolumes(),
    )


def _waiting(claims: WorkloadClaims) -> WorkloadClaims:
    """All replicas start anew, with the claims they have."""
    return replace(claims, replicas=tuple(replace(each, row=-1) for each in claims.replicas))


def _others(site: Site) -> SiteVolumes:
    """The volumes on nodes without those of the site's own workloads, which arrive anew; attachments go with these."""
    own = {"", *(workload.key for workload in site.workloads)}
    return replace(site.attached, held=tuple(each for each in site.attached.held if each.workload not in own))


def _nodes(written: Scenario, site: Site | None) -> NodeState:
    if site is not None and written.nodes:
        raise InputError("$.nodes", "the manifests have nodes already; expected one or the other")
    if site is not None and len(site.nodes.names):
        return _emptied(site)
    records = [record for row, each in enumerate(written.nodes) for record in _records(each, f"$.nodes[{row}]")]
    if not records:
        raise InputError("$.nodes", "there is no node; expected at least one")
    names = [record.name for record in records]
    if len(set(names)) != len(names):
        raise InputError("$.nodes", "two groups have the same name; expected distinct names")
    return node_state(records)


def _emptied(site: Site) -> NodeState:
    """The nodes without the replicas of the site's own workloads, which arrive anew; others keep their room."""
    nodes, used = site.nodes, site.nodes.used.copy()
    for workload in site.workloads:
        there = site.present.get(workload.key)
        if there is None:
            continue
        for name, amount_each in workload.shape.request:
            column = nodes.column(name)
            if column is not None:
                used[:, column] -= there * amount_each
    return replace(nodes, used=np.maximum(used, 0))


def _residents(site: Site, then: Site) -> tuple[Population, int]:
    """Who is there before anything arrives, `then` with the daemons: first so many that belong to their node, then
    those that are leaving. Replicas of the site's own workloads arrive anew."""
    before, now = site.population, then.population
    own = np.ones(len(now.rows), dtype=np.bool_)
    own[: site.fixed] = own[len(before.rows) :] = False
    rows = np.concatenate([np.flatnonzero(~own), np.flatnonzero(own & now.leaving)])
    found = replace(now, codes=ints(now.codes[rows]), rows=ints(now.rows[rows]), leaving=flags(now.leaving[rows]))
    return found, int((~own).sum())


def _quotas(site: Site) -> Iterator[NamespaceQuota]:
    """The quotas without what daemons take of them: all else arrives anew."""
    left = quotas_left(site, [each.workload for each in site.daemons])
    for namespace, quotas in left.items():
        for each in quotas:
            yield NamespaceQuota(name=each.name, namespace=namespace, hard=each.amounts)


def _records(written: NodesIn, path: str) -> Iterator[NodeRecord]:
    offered = {
        "cpu": amount("cpu", written.cpu, f"{path}.cpu"),
        "memory": amount("memory", written.memory, f"{path}.memory"),
        "pods": written.pods,
        **amounts(written.resources, f"{path}.resources"),
    }
    for number in range(written.count):
        labels = dict(written.labels)
        if written.tier:
            labels[CAPACITY] = written.tier
        if written.zones:
            labels[ZONE] = written.zones[number % len(written.zones)]
        yield NodeRecord(name=f"{written.name}-{number + 1}", allocatable=offered, labels=labels)


def _queues(written: Scenario, site: Site | None) -> tuple[QueueEntry, ...]:
    own = tuple(
        QueueEntry(
            name=each.name, weight=each.weight, capability=amounts(each.capability, f"$.queues[{row}].capability")
        )
        for row, each in enumerate(written.queues)
    )
    named: set[str] = set()
    for row, queue in enumerate(own):
        if queue.name in named:
            raise InputError(f"$.queues[{row}].name", f"{queue.name!r} is there twice; expected distinct names")
        named.add(queue.name)
    return (*own, *(queue for queue in (site.queues if site else ()) if queue.name not in named))


def _standing(site: Site) -> Iterator[Arrival]:
    """The workloads of the manifests arrive at the start.

    Those of a gang start one by one: each waits for what of its minimum the other workloads leave, whole as they are.
    """
    gangs: dict[str, Counter[str]] = {}
    for workload in site.workloads:
        if workload.gang and workload.min_resources:
            gangs.setdefault(workload.gang, Counter()).update(_use(workload))
    asked = [(workload, workload.replicas) for workload in site.workloads]
    for workload, _ in RoleGangs(asked).members(lambda workload: workload.replicas):
        whole, own = gangs.get(workload.gang), _use(workload)
        if whole is not None:
            least = tuple((name, amount - whole[name] + own[name]) for name, amount in workload.min_resources)
            workload = replace(workload, min_resources=tuple((name, amount) for name, amount in least if amount > 0))
        yield Arrival(at_ms=0, workload=workload)


def _use(workload: Workload) -> Counter[str]:
    """What all its replicas ask for."""
    return Counter({name: amount * workload.replicas for name, amount in workload.shape.request})


def _arrivals(written: ScenarioWorkload, path: str) -> Iterator[Arrival]:
    request = request_of(written.cpu, written.memory, written.resources, path)
    shape = shape_of(written.namespace, request, {APP: written.name, **written.labels}, written.spread)
    every = 0 if written.every is None else milliseconds(written.every, f"{path}.every")
    if written.times > 1 and not every:
        raise InputError(f"{path}.every", "is missing; expected how often the workload comes")
    first = milliseconds(written.at, f"{path}.at")
    duration = None if written.duration is None else milliseconds(written.duration, f"{path}.duration")
    for turn in range(written.times):
        yield arrival(
            first + turn * every,
            written.name if written.times == 1 else f"{written.name}-{turn + 1}",
            shape,
            written.replicas,
            duration,
            queue=written.queue,
            priority=written.priority,
            gang=written.gang,
            tier=tier_of(written.tier, f"{path}.tier"),
        )


def _events(
    written: Sequence[EventIn], nodes: NodeState, tiers: Tiers, known: set[str], seed: int
) -> tuple[list[Scale], list[Outage]]:
    scales: list[Scale] = []
    outages: list[Outage] = []
    for row, event in enumerate(written):
        path = f"$.events[{row}]"
        at = milliseconds(event.at, f"{path}.at")
        named = [name for name in ("interrupt", "fail", "scale", "finish") if getattr(event, name) is not None]
        if len(named) != 1:
            raise InputError(path, "expected exactly one of interrupt, fail, scale and finish")
        title = event.scale if event.finish is None else event.finish
        for name, of in (("replicas", ("scale",)), ("back", ("fail", "interrupt"))):
            if getattr(event, name) is not None and named[0] not in of:
                raise InputError(f"{path}.{name}", f"does not go with {named[0]}; expected with {' or '.join(of)} only")
        if title is not None:
            if title not in known:
                raise InputError(
                    f"{path}.{named[0]}", f"{title!r} never arrives; expected NAMESPACE/NAME of a workload"
                )
            if event.scale is not None and event.replicas is None:
                raise InputError(f"{path}.replicas", "is missing; expected how many there are to be")
            scales.append(Scale(at_ms=at, title=title, replicas=event.replicas or 0))
            continue
        select = event.fail if event.interrupt is None else event.interrupt
        assert select is not None  # exactly one is told
        if event.interrupt is not None and not (select.tier or select.nodes or select.labels):
            select = SelectIn(tier="spot", share=select.share)
        rows = _share(_matching(nodes, tiers, select, path), select.share, Draws(seed, path), path)
        back = None if event.back is None else at + milliseconds(event.back, f"{path}.back")
        outages.append(Outage(at_ms=at, rows=tuple(rows.tolist()), back_ms=back))
    return scales, outages


def _matching(nodes: NodeState, tiers: Tiers, select: SelectIn, path: str) -> Int:
    """Rows of the nodes that are meant; none is a mistake."""
    unknown = [name for name in select.nodes if name not in nodes.rows]
    if unknown:
        raise InputError(f"{path}.nodes", f"there is no node {unknown[0]!r}")
    mask = np.ones(len(nodes.names), dtype=np.bool_)
    if select.nodes:
        mask[:] = False
        mask[[nodes.rows[name] for name in select.nodes]] = True
    wanted = dict(select.labels)
    if select.tier in (ON_DEMAND, SPOT):
        mask &= (on_demand_nodes if select.tier == ON_DEMAND else spot_nodes)(nodes, tiers)
    elif select.tier:
        wanted[CAPACITY] = select.tier
    for key, value in wanted.items():
        column = nodes.labels.get(ZONE if key == "zone" else key)
        code = column.values.index(value) if column is not None and value in column.values else None
        mask &= np.zeros_like(mask) if column is None or code is None else column.codes == code
    if not mask.any():
        raise InputError(path, "no node matches")
    return np.flatnonzero(mask)


def _share(rows: Int, share: str, draws: Draws, path: str) -> Int:
    percent = integer(share.removesuffix("%")) if share.endswith("%") else None
    if percent is None or not 0 <= percent <= 100:
        raise InputError(f"{path}.share", f'{share!r}; expected a percentage such as "50%"')
    chosen: Int = rows[draws.some(-(-len(rows) * percent // 100), len(rows))]
    return chosen
