"""Why not there: a workload and a node or a cluster, a volume and a node or a disk.

Asked of things as the plan leaves them, so that the answer is about one replica more.
"""

from collections.abc import Iterator

from fairlead.engine import explain_fleet
from fairlead.engine.explain import CURES, volume_name
from fairlead.engine.plan import Divided, Plan
from fairlead.engine.site_plan import PartPath, Path, SitePlan
from fairlead.levels.disk.balance import Balance, VolumeOutcome
from fairlead.levels.disk.reasons import REASONS_OF_A_DISK
from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, Constraints
from fairlead.model.amounts import quantity
from fairlead.model.errors import InputError
from fairlead.model.nodestate import ABSENT, NodeState
from fairlead.model.selectors import Operator, Requirement, tolerated
from fairlead.model.shape import Shape


def why_not(plan: Plan, what: str, target: str) -> tuple[str, ...]:
    """`what` is a workload, `volumes` or `volume/NAME`; `target` a node, a cluster, or NODE/DISK."""
    if volume_name(plan, what) is not None:
        return _volume(plan, what, target.removeprefix("node/"))
    divided = [each for each in plan.divided if each.workload.is_called(what)]
    paths = [(site, path) for site in plan.sites for path in site.paths if path.workload.is_called(what)]
    if not divided and not paths:
        raise InputError(what, "no such workload or volume in the plan")
    node = target.removeprefix("node/")
    for site in plan.sites:
        if node in site.site.nodes.rows and not target.startswith("cluster/"):
            return tuple(_node(plan, site, what, node))
    return tuple(_cluster(plan, divided, paths, what, target.removeprefix("cluster/")))


def _node(plan: Plan, site: SitePlan, what: str, node: str) -> Iterator[str]:
    row = site.site.nodes.rows[node]
    found = [path for path in site.paths if path.workload.is_called(what) and path.replicas + _runs(path)]
    if not found:
        homes = sorted({each.site.name for each in plan.sites if any(p.workload.is_called(what) for p in each.paths)})
        where = f"on cluster {', '.join(homes)}" if any(homes) else "elsewhere"
        yield f"{what} has no replicas on cluster {site.site.name or 'of ' + node}; it is planned {where}."
        return
    for path in found:
        for part in path.parts:
            yield _part(site, path, part, row)


def _runs(path: Path) -> int:
    return sum(part.part.running for part in path.parts)


def _part(site: SitePlan, path: Path, part: PartPath, row: int) -> str:
    state, shape = site.after, part.part.shape
    node = state.names[row]
    code = _code(site, path, part, row)
    what = f"replicas of {path.workload.title}" + (f" ({part.part.tier})" if part.part.tier else "")
    if code:
        reason = reasons.FILTERS[code - 1]
        more = _detail(state, shape, row, code)
        return (
            f"{node} takes no more {what}: {reason.code}, {reason.sentence}"
            f"{f' ({more})' if more else ''}; {CURES[reason.cure]}."
        )
    if not part.part.need:
        return f"{node} would take {what}, but no more are asked for."
    here = int(part.counts[row])
    if part.granted < part.part.need:
        held_back = f"the queue lets only {part.granted} of {part.part.need} start"
        return f"{node} would take one more of the {what}; it gets {here}, and {held_back}."
    return f"{node} would take one more of the {what}; it gets {here}, and all {part.part.need} have a place already."


def _code(site: SitePlan, path: Path, part: PartPath, row: int) -> int:
    """The filter that refuses one more replica there; 0 where the volumes of one of them would let it run there."""
    claims = site.site.claims.get(path.workload.key)
    wanted = max(1, sum(each.part.need for each in path.parts))
    demands = [] if claims is None else claims.waiting(wanted)
    filters = [reach(site.after, demand).passing for demand in dict.fromkeys(demands)]
    shape, population = part.part.shape, site.site.population
    codes = [int(Constraints(site.after, shape, population, also).codes()[row]) for also in filters or (NOTHING_MORE,)]
    return codes[0] if all(codes) else 0


def _detail(state: NodeState, shape: Shape, row: int, code: int) -> str:
    """What exactly stands in the way, where it can be told in a few words."""
    reason = reasons.FILTERS[code - 1]
    if reason is reasons.NO_ROOM:
        free = dict(zip(state.resources, state.free[row].tolist(), strict=True))
        return ", ".join(
            f"{quantity(name, free.get(name, 0))} {name} left, a replica needs {quantity(name, asked)}"
            for name, asked in shape.request
            if asked > free.get(name, 0)
        )
    if reason is reasons.TAINT_NOT_TOLERATED:
        taints = state.taint_profiles[int(state.taint_profile[row])]
        bad = [taint for taint in taints if not tolerated((taint,), shape.tolerations)]
        return ", ".join(f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}" for taint in bad)
    if reason is reasons.NODE_NOT_SELECTED:
        wanted = [Requirement(key, Operator.IN, (value,)) for key, value in shape.node_selector]
        if shape.required is not None and len(shape.required) == 1:
            wanted += shape.required[0].labels
        failed = [each for each in wanted if not each.holds(_label(state, each.key, row))]
        return ", ".join(_failed(each, _label(state, each.key, row)) for each in failed)
    return ""


def _label(state: NodeState, key: str, row: int) -> str | None:
    column = state.labels.get(key)
    code = ABSENT if column is None else int(column.codes[row])
    return None if column is None or code == ABSENT else column.values[code]


def _failed(wanted: Requirement, value: str | None) -> str:
    has = f"has {wanted.key}={value}" if value is not None else f"has no {wanted.key}"
    return f"it {has}, asked for is {wanted.operator.value} {', '.join(wanted.values)}".rstrip()


def _cluster(
    plan: Plan, divided: list[Divided], paths: list[tuple[SitePlan, Path]], what: str, cluster: str
) -> Iterator[str]:
    """The fleet's word on one cluster."""
    known = {site.site.name for site in plan.sites} | {
        name for each in plan.divided for name in each.division.placements
    }
    if cluster not in known or not cluster:
        raise InputError(cluster, "no such node or cluster in the plan")
    if not divided:
        homes = ", ".join(sorted({site.site.name for site, _ in paths}))
        yield f"{what} is not divided: no propagation policy selects it, so all of it is on {homes}, where it was read."
        return
    for each in divided:
        title, replicas = each.workload.title, each.workload.replicas
        if cluster not in each.division.placements:
            yield f"{cluster} is not among the clusters that the policy of {title} chooses from."
        else:
            got = each.division.placements[cluster]
            yield f"{cluster} gets {got} of {replicas} replicas of {title}."
            yield from (f"  {line}" for line in explain_fleet.cluster_lines(each.division, cluster))


def _volume(plan: Plan, what: str, target: str) -> tuple[str, ...]:
    name = volume_name(plan, what)
    lines: list[str] = []
    for decision in plan.storage.values():
        rows = [row for row in range(len(decision.disks)) if target in _names(decision, row)]
        for outcome in decision.outcomes if rows else ():
            if name in ("", outcome.volume.name):
                lines += [_disk(decision, outcome, row) for row in rows]
    if not lines:
        raise InputError(target, "no such node or disk with storage in the plan")
    return tuple(lines)


def _names(decision: Balance, row: int) -> tuple[str, str]:
    disks = decision.disks
    return disks.place(row), disks.nodes[int(disks.node_of[row])]


def _disk(decision: Balance, outcome: VolumeOutcome, row: int) -> str:
    place, volume = decision.disks.place(row), outcome.volume.name or "the volume"
    if any(each.row == row and each.volume == outcome.volume.name for each in decision.placed):
        return f"{place} does get a replica of {volume}."
    node = decision.disks.nodes[int(decision.disks.node_of[row])]
    beside = [each.disk for each in decision.placed if (each.node, each.volume) == (node, outcome.volume.name)]
    compared = _compared(decision, outcome, row)
    if beside:
        return f"{place} gets none: {node} has its replica of {volume} on {', '.join(beside)}{compared}."
    code = int(outcome.codes[row])
    if code:
        reason = REASONS_OF_A_DISK[code - 1]
        return f"{place} takes no replica of {volume}: {reason.code}, {reason.sentence}; {CURES[reason.cure]}."
    return f"{place} could take a replica of {volume}, but others leave things more even{compared}."


def _compared(decision: Balance, outcome: VolumeOutcome, row: int) -> str:
    """The imbalance of the node beside that of the chosen one, for the volume whose scores the decision keeps."""
    choice, node = decision.first, int(decision.disks.node_of[row])
    if choice is None or outcome is not decision.outcomes[0] or node not in choice.node_rows.tolist():
        return ""
    field, rows, here, best = choice.node_field, choice.node_rows.tolist(), node, choice.node
    if node == choice.node:
        field, rows, here, best = choice.disk_field, choice.disk_rows.tolist(), row, choice.disk
    if here not in rows:
        return ""
    scores = field.decimals()
    word = decision.disks.place(best) if node == choice.node else decision.disks.nodes[best]
    return (
        f" (imbalance with the first replica there {scores[rows.index(here)]:.4f}, "
        f"on {word} {scores[rows.index(best)]:.4f})"
    )
