"""`fairlead queue`: what the queues of a live cluster deserve and use, who waits there, and why."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.live import cluster_options
from fairlead.cli.main import EXIT_OK, EXIT_UNPLACED
from fairlead.cli.output import chosen, console, output_option, write_record
from fairlead.cli.selection import labels_hold, namespace_options, one_namespace, selector_option
from fairlead.cli.watching import watch_option, watched
from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.levels.queue.result import JobRow, Sharing

NO_QUEUES = (
    "fairlead: this cluster has no Queues (scheduling.volcano.sh): its namespaces share one queue, default, by weight"
)


@click.command(
    "queue",
    epilog="""
\b
Examples:
  fairlead queue
  fairlead queue research -o json
  fairlead queue --watch --context production

\b
Only lists are read, nothing is written. The exit code is 1 while a job waits.
""",
)
@click.argument("name", required=False, default="", metavar="[NAME]")
@cluster_options
@namespace_options
@selector_option("jobs whose pods are")
@watch_option
@output_option("wide", "name")
def command(
    name: str,
    kubeconfig: str,
    context: str,
    namespace: str,
    all_namespaces: bool,
    selector: str,
    watch: bool,
    output: str | None,
) -> int:
    """Show what each queue and namespace deserves, uses and asks for, which jobs wait, and why.

    It decides as the scheduler does, on the objects of the cluster now. NAME shows one queue.
    """
    from fairlead.engine.records_queue import sharing_record, waits

    form, space = chosen(output), one_namespace(namespace, all_namespaces)
    holds = labels_hold(selector)

    def once() -> int:
        found, served = asyncio.run(_read(kubeconfig, context))
        if not served:
            click.echo(NO_QUEUES, err=True)
        jobs = jobs_with(found, holds) if selector else None
        view = look(found, name)
        if space:
            view = replace(view, decision=of_namespace(view.decision, space))
        if jobs is not None:
            view = replace(view, decision=with_jobs(view.decision, lambda job: job.name in jobs))
        if form in ("table", "wide"):
            _table(view, wide=form == "wide")
        elif form == "name":
            click.echo("\n".join(f"queue/{row.name}" for row in view.decision.queues))
        else:
            write_record(sharing_record(view.decision, view.weights), form, one_line=watch)
        return EXIT_UNPLACED if any(map(waits, view.decision.jobs)) else EXIT_OK

    return watched(once, watch, form)


async def _read(kubeconfig: str, context: str) -> "tuple[Catalogue, bool]":
    """What sharing reads, and whether the server knows queues."""
    from fairlead.kube import resources as kinds
    from fairlead.kube.config import load
    from fairlead.kube.manifests.catalogue import catalogue
    from fairlead.kube.manifests.collect import collect
    from fairlead.kube.wire.http import connect

    client = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        read: tuple[kinds.Resource[Any], ...] = (
            kinds.NODES,
            kinds.PODS,
            kinds.RESOURCE_QUOTAS,
            kinds.DISRUPTION_BUDGETS,
            kinds.PRIORITY_CLASSES,
            kinds.QUEUES,
            kinds.POD_GROUPS,
            *kinds.STORAGE,
        )
        return catalogue(await collect(client, resources=read)), await client.served(kinds.QUEUES)
    finally:
        await client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """What is shown: the decision with what is used now in place of what would be, and the weights of queues."""

    decision: "Sharing"
    weights: dict[str, int]


def look(found: "Catalogue", name: str = "") -> QueueView:
    """The decision on the objects of a cluster, for one queue or all. The queue `default` is always there."""
    from fairlead.cli.share_manifests import problem_of, solve
    from fairlead.engine.used_now import used_now
    from fairlead.kube.codec.queues import DEFAULT
    from fairlead.kube.objects.meta import ObjectMeta
    from fairlead.kube.objects.volcano import VolcanoQueue

    for error in found.errors:
        raise error
    queues = found.of(VolcanoQueue)
    if DEFAULT not in {each.metadata.name for each in queues}:
        found.objects[VolcanoQueue] = [*queues, VolcanoQueue(metadata=ObjectMeta(name=DEFAULT))]
    problem = problem_of(found, "the cluster")
    decision = used_now(solve(problem), problem.given.state)
    weights = dict(zip(problem.given.state.queues.names, problem.given.state.queues.weight.tolist(), strict=True))
    if name and name not in weights:
        raise InputError(name, f"is no queue; there are {', '.join(sorted(weights))}")
    return QueueView(decision=_only(decision, name) if name else decision, weights=weights)


def _only(decision: "Sharing", name: str) -> "Sharing":
    return replace(
        with_jobs(decision, lambda job: job.queue == name),
        queues=tuple(row for row in decision.queues if row.name == name),
        namespaces=tuple(row for row in decision.namespaces if row.queue == name),
    )


def of_namespace(decision: "Sharing", namespace: str) -> "Sharing":
    """The jobs and shares of one namespace; the queues are shown whole."""
    return replace(
        with_jobs(decision, lambda job: job.namespace == namespace),
        namespaces=tuple(row for row in decision.namespaces if row.namespace == namespace),
    )


def with_jobs(decision: "Sharing", shown: "Callable[[JobRow], bool]") -> "Sharing":
    """Some of the jobs; what queues and namespaces have is that of all."""
    jobs = tuple(filter(shown, decision.jobs))
    return replace(decision, jobs=jobs, unplaced=sum(job.pending for job in jobs))


def jobs_with(found: "Catalogue", holds: "Callable[[Mapping[str, str]], bool]") -> frozenset[str]:
    """The names of jobs some pod of which, or whose group, has such labels."""
    from fairlead.kube.manifests.queue import groups_of, job_of, owners_of, short_name
    from fairlead.kube.objects.pod import Pod

    groups, owners = groups_of(found), owners_of(found)
    pods = {job_of(pod, groups, owners) for pod in found.of(Pod) if holds(pod.metadata.labels)}
    short = {name for key in pods if (name := short_name(key)) not in groups}
    return frozenset(pods | short | {name for name, group in groups.items() if holds(group.metadata.labels)})


def _table(view: QueueView, *, wide: bool = False) -> None:
    from fairlead.pictures.share import picture

    screen = console()
    picture(screen, None, view.decision, wide=wide)
    for job in view.decision.jobs:
        if job.admitted > job.running:
            screen.print(f"{job.name}: {job.admitted - job.running} start now", markup=False)
