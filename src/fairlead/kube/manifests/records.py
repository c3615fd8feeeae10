"""The answers of `plan` and `explain` on manifests, as the command line prints them and the page shows them."""

from collections.abc import Iterable
from typing import Any

from fairlead.engine import explain
from fairlead.engine.budgets import Disruption, disruptions, steps_record
from fairlead.engine.changes import Changes
from fairlead.engine.compare import beside
from fairlead.engine.plan import Plan
from fairlead.engine.record import plan_record
from fairlead.engine.why_not import why_not as why_not_lines
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.pods import pod_lines
from fairlead.model.snapshot import Snapshot
from fairlead.model.workload import kind_named


def plan_answer(decided: Plan, found: Catalogue) -> dict[str, Any]:
    """The record of the plan, with what was not read and what is broken."""
    lost = unreached(found, decided)
    return {**plan_record(decided), **({"unreached": list(lost)} if lost else {}), **left_out(found)}


def unreached(found: Catalogue, decided: Plan) -> tuple[str, ...]:
    """What policies send to clusters that are not known, or whose nodes are not, as sentences."""
    beyond = (f"{each.workload.title}: {why.sentence}" for each in decided.divided for why in each.beyond)
    return (*found.unreached, *beyond)


def left_out(found: Catalogue) -> dict[str, Any]:
    """What a plan does not count, by kind, and mistakes with their places; nothing where there are none."""
    record: dict[str, Any] = {}
    if found.not_counted:
        record["notCounted"] = dict(sorted(found.not_counted.items()))
    if found.errors:
        record["errors"] = [{"path": error.path, "message": error.message} for error in found.errors]
    return record


def what_if_answer(now: Plan, then: Plan, stopped: tuple[Disruption, ...]) -> dict[str, Any]:
    """The changed plan beside the present one, with what disruption budgets say to the way there."""
    return {**beside(now, then), **(steps_record(stopped) if stopped else {})}


def stopped_by(view: Snapshot, asked: Changes) -> tuple[Disruption, ...]:
    """The disruption budgets that what is drained touches."""
    return disruptions(view, frozenset(node.removeprefix("node/") for node in asked.drain))


def meant(words: Iterable[str], namespace: str = "") -> str:
    """Words as KIND/NAMESPACE/NAME, as kubectl takes them; pods, nodes and volumes by the one name of their kind.

    A `namespace` is filled in where the words name none.
    """
    kind, slash, name = "/".join(words).partition("/")
    if not slash:
        return f"{namespace}/{kind}" if namespace and kind != "volumes" else kind
    known = kind_named(kind) if kind_named(kind) in ("pod", "node", "volume") else kind
    named = not namespace or "/" in name or kind == namespace or known in ("node", "volume")
    return f"{known}/{name}" if named else f"{known}/{namespace}/{name}"


def explain_answer(found: Catalogue, decided: Plan, what: str, why_not: str = "") -> tuple[str, ...]:
    """Sentences about a workload, `node/NAME`, `pod/NAME`, `volume/NAME` or `volumes`.

    With `why_not`, why it gets no (more) replicas on that node, cluster or NODE/DISK.
    """
    about_pod: tuple[str, ...] = ()
    if what.startswith("pod/"):
        about_pod, what = pod_lines(found, decided, what.removeprefix("pod/"))
        if not any(path.workload.key == what for site in decided.sites for path in site.paths):
            return about_pod  # a static pod, or a bare one that has ended, is no workload of the plan
    if why_not:
        return (*about_pod, *why_not_lines(decided, what, why_not))
    if what.startswith("node/"):
        return explain.node_lines(decided, what.removeprefix("node/"))
    volume = explain.volume_name(decided, what)
    if volume is not None:
        return explain.volume_lines(decided, volume)
    return (*about_pod, *explain.workload_lines(decided, what))
