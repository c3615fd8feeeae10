"""The views by name: each makes one record of what is seen now."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.engine.changes import Changes, changed
from fairlead.engine.plan import Plan, plan
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.records import explain_answer, left_out, plan_answer, stopped_by, what_if_answer
from fairlead.model.errors import InputError
from fairlead.model.snapshot import Snapshot
from fairlead.web.records.disks import disks_record
from fairlead.web.records.fleet import fleet_record
from fairlead.web.records.nodes import map_record, node_record
from fairlead.web.records.overview import overview_record
from fairlead.web.records.queues import queues_record
from fairlead.web.records.tiers import tiers_record
from fairlead.web.records.waiting import waiting_record
from fairlead.web.records.workload import workload_record, workloads_record

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is seen at one moment; `decided` is None until the plan is made, `trouble` what stands in the way."""

    title: str
    found: Catalogue = field(default_factory=Catalogue)
    view: Snapshot = Snapshot()
    decided: Plan | None = None
    trouble: str = ""


def _planned(make: Callable[[Look, Plan], Record]) -> Callable[[Look], Record]:
    """A view that there is only with a plan."""

    def record(look: Look) -> Record:
        return {"planned": False} if look.decided is None else {"planned": True, **make(look, look.decided)}

    return record


def _overview(look: Look) -> Record:
    return {
        "title": look.title,
        "trouble": look.trouble,
        **overview_record(look.view, look.decided),
        **left_out(look.found),
    }


VIEWS: Mapping[str, Callable[[Look], Record]] = {
    "overview": _overview,
    "map": lambda look: map_record(look.view, look.decided),
    "queues": _planned(lambda look, decided: queues_record(decided)),
    "waiting": _planned(lambda look, decided: waiting_record(decided)),
    "workloads": _planned(lambda look, decided: workloads_record(decided)),
    "fleet": _planned(lambda look, decided: fleet_record(look.view, decided)),
    "tiers": _planned(lambda look, decided: tiers_record(decided)),
    "disks": _planned(lambda look, decided: disks_record(look.view, decided)),
    "plan": _planned(lambda look, decided: plan_answer(decided, look.found)),
}
"""Views without a question; `plan` has the very record of `fairlead plan -o json`."""


def _workload(look: Look, decided: Plan, ask: Mapping[str, str]) -> Record:
    return _known(workload_record(decided, ask.get("workload", ""), look.found), "workload", ask)


def _node(look: Look, decided: Plan, ask: Mapping[str, str]) -> Record:
    return _known(node_record(decided, ask.get("node", "")), "node", ask)


def _known(record: Record | None, what: str, ask: Mapping[str, str]) -> Record:
    if record is None:
        raise InputError(what, f"there is no {what} {ask.get(what, '')!r}")
    return record


def _explain(look: Look, decided: Plan, ask: Mapping[str, str]) -> Record:
    what, target = ask.get("what", ""), ask.get("whyNot", "")
    return {"what": what, "whyNot": target, "lines": list(explain_answer(look.found, decided, what, target))}


QUESTIONS: Mapping[str, Callable[[Look, Plan, Mapping[str, str]], Record]] = {
    "workload": _workload,
    "node": _node,
    "explain": _explain,
}
"""Views that answer a question in their address."""


def what_if(look: Look, decided: Plan, asked: Changes) -> Record:
    """The plan of the changed snapshot beside the present one, in the form of `plan -o json`, and its map."""
    then = changed(look.view, asked)
    if then is look.view:
        raise InputError("", "no change is asked for; expected drain, lose, addNodes and like, scale or weight")
    after = plan(then, after=decided)
    return {**what_if_answer(decided, after, stopped_by(look.view, asked)), "map": map_record(then, after)}
