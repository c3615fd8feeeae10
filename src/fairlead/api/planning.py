"""`plan`, `explain` and `what_if`: all five levels on one snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from fairlead.api.answer import Answer
from fairlead.api.snapshot import ClusterSnapshot, Config, Source, read
from fairlead.engine.changes import Changes, changed
from fairlead.engine.plan import Plan
from fairlead.engine.plan import plan as decide
from fairlead.engine.whatif import replicas_asked
from fairlead.kube.adapters.autoscaler import autoscaled
from fairlead.kube.manifests.records import explain_answer, meant, plan_answer, stopped_by, what_if_answer
from fairlead.model.errors import InputError
from fairlead.pictures.changes import draw_changes
from fairlead.pictures.html import changes as changes_html
from fairlead.pictures.html import plan as plan_html
from fairlead.pictures.plan import draw


class PlanAnswer(Answer):
    """Where everything would go, and why."""

    def __init__(self, snapshot: ClusterSnapshot, decided: Plan) -> None:
        found = snapshot._found
        record = plan_answer(decided, found)
        super().__init__(
            record,
            lambda screen: draw(screen, decided, found),
            partial(plan_html.picture, decided, record),
        )
        self.snapshot = snapshot
        self._decided = decided

    @property
    def unplaced(self) -> int:
        """Replicas and storage replicas that found no place."""
        return self._decided.unplaced

    @property
    def fleet(self) -> list[dict[str, Any]]:
        """Workloads that are divided over clusters."""
        return self._value("fleet", [])

    @property
    def sites(self) -> list[dict[str, Any]]:
        """Each cluster: workloads, queues, namespaces, use, evenness and fairness."""
        return self._value("sites", [])

    @property
    def storage(self) -> dict[str, dict[str, Any]]:
        """Storage replicas by cluster."""
        return self._value("storage", {})

    @property
    def workloads(self) -> list[dict[str, Any]]:
        """The workloads of all clusters, each with the name of its `cluster`."""
        return [{"cluster": site["cluster"], **each} for site in self.sites for each in site["workloads"]]

    @property
    def waiting(self) -> list[dict[str, Any]]:
        """The workloads of which something waits."""
        return [each for each in self.workloads if each["unplaced"]]

    @property
    def not_counted(self) -> dict[str, int]:
        """Objects that the plan leaves out, by kind."""
        return self._value("notCounted", {})

    @property
    def errors(self) -> tuple[InputError, ...]:
        """What was broken in the manifests."""
        return self.snapshot.errors

    def explain(self, what: str, why_not: str = "") -> "Explanation":
        """Why something is planned as it is; see `fairlead.explain`."""
        lines = explain_answer(self.snapshot._found, self._decided, meant([what]), why_not)
        return Explanation(lines)


class Explanation(Sequence[str]):
    """Sentences, level by level."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)

    def to_list(self) -> list[str]:
        """The sentences, equal to what `fairlead explain -o json` prints."""
        return list(self.lines)

    def __getitem__(self, index: Any) -> Any:
        return self.lines[index]

    def __len__(self) -> int:
        return len(self.lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from fairlead.pictures.html.parts import preformatted

        return preformatted(str(self))


class WhatIfAnswer(Answer):
    """A changed cluster beside the present one."""

    def __init__(self, record: dict[str, Any], sentences: Sequence[str]) -> None:
        super().__init__(
            record,
            lambda screen: draw_changes(screen, record, "now", "then", sentences),
            partial(changes_html.picture, record, sentences),
        )
        self.sentences = tuple(sentences)
        """What disruption budgets say to it."""

    @property
    def workloads(self) -> list[dict[str, Any]]:
        """The workloads that change: `from`, `to`, `moves` and `waits` before and after."""
        return self._value("workloads", [])

    @property
    def moves(self) -> int:
        """Replicas that would run elsewhere."""
        return self._value("moves", 0)

    @property
    def unplaced(self) -> dict[str, int]:
        """How many wait `before` and `after`."""
        return self._value("unplaced", {})

    @property
    def sites(self) -> list[dict[str, Any]]:
        """Nodes, use and evenness of each cluster before and after."""
        return self._value("sites", [])

    @property
    def plan(self) -> dict[str, Any]:
        """The changed plan, in the form of `fairlead plan -o json`."""
        return self._value("plan", {})

    @property
    def budgets(self) -> list[dict[str, Any]]:
        """Disruption budgets that a drain touches."""
        return self._value("budgets", [])

    @property
    def steps(self) -> int | None:
        """Steps that a drain takes within the budgets, None where one of them stops it or none is touched."""
        return self._value("steps", None)


Planned = ClusterSnapshot | PlanAnswer
"""What has been read, or planned already."""


def plan(snapshot: ClusterSnapshot | Source, *, config: Config = None) -> PlanAnswer:
    """Plan a snapshot. Anything that `fairlead.read` takes may stand in its place; `config` is for that."""
    if not isinstance(snapshot, ClusterSnapshot):
        snapshot = read(snapshot, config=config)
    elif config is not None:
        raise InputError("config", "goes to `read`, which made the snapshot")
    return PlanAnswer(snapshot, decide(snapshot._view))


def explain(planned: Planned, what: str, *, why_not: str = "") -> Explanation:
    """Sentences about a workload, `node/NAME`, `pod/NAME`, `volume/NAME` or `volumes`.

    With `why_not`, why it gets no (more) replicas on that node, cluster or NODE/DISK.
    """
    return _planned(planned).explain(what, why_not)


def what_if(
    planned: Planned,
    *,
    drain: str | Iterable[str] = (),
    lose: str | Iterable[str] = (),
    add_nodes: int | None = None,
    like: str = "",
    scale: Mapping[str, int] | None = None,
    scale_hpa: str = "",
    weight: Mapping[str, int] | None = None,
) -> WhatIfAnswer:
    """The plan of a changed cluster beside the present one.

    `drain` names nodes to empty, `lose` is LABEL=VALUE of nodes that are gone (`zone=a`, `tier=spot`), `add_nodes` with
    `like` adds nodes like one that is there, `scale` gives workloads another number of replicas, `scale_hpa` (`min` or
    `max`) moves autoscalers to a bound, `weight` gives namespaces another weight.
    """
    if scale_hpa not in ("", "min", "max"):
        raise InputError("scale_hpa", f"{scale_hpa!r}; expected 'min' or 'max'")
    now = _planned(planned)
    found, view = now.snapshot._found, now.snapshot._view
    at_bound = autoscaled(found, scale_hpa, replicas_asked(view))[0] if scale_hpa else ()
    asked = Changes(
        drain=_several(drain),
        lose=_several(lose),
        add_nodes=add_nodes,
        like=like,
        scale=(*_pairs(scale), *at_bound),
        weight=_pairs(weight),
    )
    then = changed(view, asked)
    if then is view:
        raise InputError("", "no change is asked for; expected drain, lose, add_nodes and like, scale or weight")
    stopped = stopped_by(view, asked)
    return WhatIfAnswer(
        what_if_answer(now._decided, decide(then, after=now._decided), stopped), [each.sentence for each in stopped]
    )


def _planned(planned: Planned) -> PlanAnswer:
    return planned if isinstance(planned, PlanAnswer) else plan(planned)


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _pairs(counts: Mapping[str, int] | None) -> tuple[str, ...]:
    return tuple(f"{name}={count}" for name, count in (counts or {}).items())
