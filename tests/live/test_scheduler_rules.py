"""Priority classes and disruption budgets as the scheduler keeps them."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.objects.policy import PodDisruptionBudget, PriorityClass
from fairlead.live.cluster.rules import Cover, DisruptionRules
from fairlead.model.population import Resident

WEB = Resident(namespace="shop", labels=(("app", "web"), ("tier", "front")))


def rules(*objects: PriorityClass | PodDisruptionBudget) -> DisruptionRules:
    """What is known after these came."""
    made = DisruptionRules()
    sinks = {resource.shape: sink for resource, sink in made.watched()}
    for each in objects:
        sinks[type(each)](Change("added", each))
    return made


def priority_class(name: str, value: int, **more: Any) -> PriorityClass:
    """A priority class."""
    return msgspec.convert({"metadata": {"name": name}, "value": value, **more}, PriorityClass)


def budget(name: str, allowed: int, labels: dict[str, str] | None, **more: Any) -> PodDisruptionBudget:
    """A budget of the shop; `labels` None is no selector."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": more.get("namespace", "shop"), "generation": 3},
            "spec": {} if labels is None else {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed, "observedGeneration": more.get("seen", 3)},
        },
        PodDisruptionBudget,
    )


def test_priority_is_that_of_the_class_or_of_the_default() -> None:
    """A class that is not there counts like none at all."""
    known = rules(
        priority_class("high", 1000, preemptionPolicy="Never"), priority_class("usual", 7, globalDefault=True)
    )
    assert [known.priority(name) for name in ("high", "usual", "", "gone")] == [1000, 7, 7, 7]
    assert [known.never_preempts(name) for name in ("high", "usual", "")] == [True, False, False]
    assert rules().priority("") == 0
    several = rules(priority_class("most", 9, globalDefault=True), priority_class("least", 2, globalDefault=True))
    assert several.priority("") == 2


@pytest.mark.parametrize(
    ("budgets", "want"),
    [
        ([], None),
        ([budget("a", 2, {"app": "web"})], Cover(("shop", "a"), 2)),
        ([budget("a", 2, {"app": "db"})], None),
        ([budget("a", 2, {})], Cover(("shop", "a"), 2)),
        ([budget("a", 2, None)], None),
        ([budget("a", 2, {"app": "web"}, namespace="other")], None),
        ([budget("a", 2, {"app": "web"}, seen=2)], Cover(("shop", "a"), 0)),
        ([budget("a", 2, {"app": "web"}), budget("b", 1, {"tier": "front"})], Cover(("shop", "b"), 0)),
    ],
    ids=["none", "covers", "other pods", "all pods", "no selector", "elsewhere", "edited since", "two at once"],
)
def test_cover_is_the_tightest_budget(budgets: list[PodDisruptionBudget], want: Cover | None) -> None:
    """What a budget still allows, and nothing where the server would refuse."""
    assert rules(*budgets).cover(WEB) == want


def test_cover_follows_the_budget() -> None:
    """A change and a deletion are seen at once, and told."""
    told: list[str] = []
    known = DisruptionRules(lambda: told.append("change"))
    (sink,) = [sink for resource, sink in known.watched() if resource.plural == "poddisruptionbudgets"]
    sink(Change("added", budget("a", 0, {"app": "web"})))
    assert known.cover(WEB) == Cover(("shop", "a"), 0)
    sink(Change("modified", budget("a", 1, {"app": "web"})))
    assert known.cover(WEB) == Cover(("shop", "a"), 1)
    sink(Change("deleted", budget("a", 1, {"app": "web"})))
    assert known.cover(WEB) is None
    assert len(told) == 3
