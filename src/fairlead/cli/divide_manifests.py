"""Manifests for `fairlead divide`: Karmada's objects to divisions, without a problem in between."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairlead.cli.given import print_errors
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.levels.fleet.divide import Division
    from fairlead.model.division import DivisionAsk


def solve(ask: "DivisionAsk") -> "Division":
    """One division."""
    return solve_many([ask])[0]


def solve_many(asks: Sequence["DivisionAsk"]) -> list["Division"]:
    """All divisions, together where they can be."""
    from fairlead.levels.fleet.batch import divide_all

    return divide_all(asks)


def answer(ask: "DivisionAsk", decision: "Division") -> dict[str, Any]:
    """The answer to a problem, with the workload it is about."""
    from fairlead.problems.divide import record

    return {"workload": ask.workload.name, **record(decision)}


def asked_for(found: "Catalogue", source: str) -> list["DivisionAsk | InputError"]:
    """Every binding, and every workload that a policy divides and no binding stands for.

    What cannot be used is told on standard error or takes the place of its answer; the others go on.
    """
    from fairlead.kube.manifests.fleet import unreadable_clusters
    from fairlead.kube.objects.karmada import KarmadaCluster

    if not found.of(KarmadaCluster):
        raise InputError(source, "has no Cluster of cluster.karmada.io; expected at least one")
    asks = [*_bindings(found), *_workloads(found)]
    print_errors([*unreadable_clusters(found), *found.errors[found.unread :]])
    if not asks:
        raise InputError(source, "has no ResourceBinding and no workload that a PropagationPolicy selects")
    return asks


def _bindings(found: "Catalogue") -> list["DivisionAsk | InputError"]:
    from fairlead.kube.manifests.fleet import ask_of_binding
    from fairlead.kube.objects.karmada import ResourceBinding

    asks: list[DivisionAsk | InputError] = []
    for binding in found.of(ResourceBinding):
        try:
            asks.append(ask_of_binding(found, binding))
        except InputError as error:
            asks.append(error)
    return asks


def _workloads(found: "Catalogue") -> list["DivisionAsk | InputError"]:
    from fairlead.kube.manifests.fleet import binding_of, division_ask
    from fairlead.kube.manifests.workloads import Reader

    asks = (
        division_ask(found, workload)
        for workload in Reader(found).controllers(found, "")
        if binding_of(found, workload) is None
    )
    return [ask for ask in asks if ask is not None]
