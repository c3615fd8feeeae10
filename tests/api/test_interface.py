"""What `import fairlead` promises: names, parameters, attributes, and that importing it costs next to nothing."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead.api.answer import Answer

FUNCTIONS = {
    "balance": "(problem)",
    "divide": "(problem)",
    "explain": "(planned, what, *, why_not='')",
    "place": "(problem)",
    "plan": "(snapshot, *, config=None)",
    "read": "(*sources, config=None, strict=False)",
    "share": "(problem)",
    "simulate": "(scenario, *, policies=(), trace='', seed=None, until='', config=None)",
    "split": "(review, *, state=None, config=None)",
    "what_if": "(planned, *, drain=(), lose=(), add_nodes=None, like='', scale=None, scale_hpa='', weight=None)",
}
LEVEL = {"cure", "explanation", "message", "reason", "to_dict", "trace", "unplaced"}
CLASSES = {
    "BalanceAnswer": {"moves", "placements", "scores", *LEVEL},
    "DivideAnswer": {"floors", "kept", "placements", "residual", "rule", *LEVEL},
    "Explanation": {"count", "index", "to_list"},
    "FairleadError": {"add_note", "args", "exit_code", "with_traceback"},
    "InputError": {"add_note", "args", "exit_code", "with_traceback", "within"},
    "InvariantError": {"add_note", "args", "exit_code", "with_traceback"},
    "PlaceAnswer": {"capacity", "pins", "placements", *LEVEL},
    "PlanAnswer": {
        "errors", "explain", "fleet", "not_counted", "sites", "storage", "to_dict", "unplaced", "waiting", "workloads",
    },
    "ShareAnswer": {"evictions", "jobs", "namespaces", "queues", *LEVEL},
    "SimulationAnswer": {"events", "policies", "to_dict"},
    "Snapshot": {"clusters", "errors", "nodes", "not_counted", "workloads"},
    "SplitAnswer": {"allowed", "explanation", "patch", "to_dict"},
    "WhatIfAnswer": {"budgets", "moves", "plan", "sites", "steps", "to_dict", "unplaced", "workloads"},
}  # fmt: skip
"""The promise (docs/decisions/0330). Who removes a line here decides to break it."""


def test_names_are_those_of_the_promise() -> None:
    """Every public name is listed, and every listed name is there."""
    assert sorted({*FUNCTIONS, *CLASSES, "__version__"}) == sorted(fairlead.__all__)
    assert set(fairlead.__all__) <= set(dir(fairlead))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_those_of_the_promise(name: str) -> None:
    """A call that works today works tomorrow."""
    found = inspect.signature(getattr(fairlead, name))
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    assert str(inspect.Signature(plain)) == FUNCTIONS[name]


@pytest.mark.parametrize("name", CLASSES)
def test_attributes_are_those_of_the_promise(name: str) -> None:
    """An attribute that is read today can be read tomorrow; each answer is documented."""
    kind = getattr(fairlead, name)
    assert {each for each in dir(kind) if not each.startswith("_")} == CLASSES[name]
    for each in CLASSES[name] - {"args", "count", "index", "exit_code"}:
        assert inspect.getdoc(getattr(kind, each)), f"{name}.{each} has no docstring"


def test_unknown_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="module 'fairlead' has no attribute 'plann'"):
        getattr(fairlead, "plann")  # noqa: B009


def test_import_loads_nothing() -> None:
    """NumPy, rich and the rest are loaded with the first call, not with the import; not even `typing` is."""
    source = str(Path(fairlead.__file__).parents[1])
    code = (
        f"import sys; sys.path.insert(0, {source!r}); before = set(sys.modules); "
        "import fairlead; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['fairlead']"


def test_answers_are_copies() -> None:
    """What a caller does to a dict does nothing to the answer."""
    answer: Any = fairlead.divide({"workload": {"name": "web", "replicas": 3}, "clusters": [{"name": "a"}]})
    answer.to_dict()["placements"]["a"] = 99
    assert answer.to_dict()["placements"] == {"a": 3}
    assert isinstance(answer, Answer)
