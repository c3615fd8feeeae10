"""Which workloads are shown, as kubectl's options say: of one namespace, of all, by the labels of their pods."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.completing import completing, namespaces
from fairlead.cli.output import Decorated
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.engine.plan import Plan
    from fairlead.model.workload import Workload

TERM = re.compile(
    r"\s*([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)\s*|\s*(!?)\s*([\w./-]+)\s*"
    r"|\s*([\w./-]+)\s+(in|notin)\s*\(([\w.,\s-]*)\)\s*"
)
COMMA = re.compile(r",(?![^(]*\))")
"""One between terms, not within the values of one."""

SELECTION_OPTIONS = (
    click.option(
        "-n",
        "--namespace",
        default="",
        metavar="NAME",
        shell_complete=completing(namespaces),
        help="Show this namespace only.  [default: all]",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="Show every namespace, which is the default."),
)


def selector_option(what: str) -> Callable[[Decorated], Decorated]:
    """`-l`; `what` says whose labels are meant."""
    return click.option(
        "-l", "--selector", default="", metavar="LABELS", help=f"Show {what} with these labels: app=web,!old."
    )


def namespace_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`-n` and `-A`."""
    for option in reversed(SELECTION_OPTIONS):
        command = option(command)
    return command


def one_namespace(namespace: str, everywhere: bool) -> str:
    """The namespace that is meant; empty is all of them."""
    if namespace and everywhere:
        raise click.UsageError("-n and -A contradict each other; expected one of them")
    return namespace


def selected(plan: "Plan", namespace: str, selector: str) -> "Plan":
    """The plan with these workloads alone. What it was decided with stays: nodes, use and queues are of all."""
    if not (namespace or selector):
        return plan
    holds = labels_hold(selector)

    def shown(workload: "Workload") -> bool:
        return workload.namespace in (namespace or workload.namespace,) and holds(dict(workload.shape.labels))

    found = replace(
        plan,
        divided=tuple(each for each in plan.divided if shown(each.workload)),
        sites=tuple(
            replace(site, paths=tuple(path for path in site.paths if shown(path.workload))) for site in plan.sites
        ),
    )
    if not (found.divided or any(site.paths for site in found.sites)):
        where = f" in namespace {namespace}" if namespace else ""
        click.echo(f"fairlead: no workload{where}{f' with labels {selector}' if selector else ''}", err=True)
    return found


def labels_hold(selector: str) -> Callable[[Mapping[str, str]], bool]:
    """A condition on labels as kubectl writes it: `a=b`, `a!=b`, `a`, `!a`, `a in (b,c)`, with commas between them."""
    terms = [_term(each) for each in COMMA.split(selector)] if selector.strip() else []
    return lambda labels: all(term(labels) for term in terms)


def _term(text: str) -> Callable[[Mapping[str, str]], bool]:
    found = TERM.fullmatch(text)
    if found is None:
        raise InputError("--selector", f"{text.strip()!r}; expected KEY=VALUE, KEY!=VALUE, KEY, !KEY or KEY in (A,B)")
    key, sign, value, absent, lone, one_of, within, values = found.groups()
    if lone:
        return lambda labels: (lone in labels) != bool(absent)
    if one_of:
        allowed = {each.strip() for each in values.split(",")}
        return lambda labels: (labels.get(one_of) in allowed) != (within == "notin")
    return lambda labels: (labels.get(key) == value) != (sign == "!=")
