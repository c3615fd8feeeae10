"""Fairlead places replicas evenly, fairly and stably, and explains every decision.

What is listed in `__all__` is the Python interface (docs/python.md); everything else may change without notice.
`import fairlead` is cheap: a name is imported when it is first used.
"""

TYPE_CHECKING = False  # what type checkers take for true; importing `typing` would take longer than all the rest
if TYPE_CHECKING:
    from fairlead.api.planning import Explanation, PlanAnswer, WhatIfAnswer, explain, plan, what_if
    from fairlead.api.simulation import SimulationAnswer, simulate
    from fairlead.api.snapshot import ClusterSnapshot as Snapshot
    from fairlead.api.snapshot import read
    from fairlead.api.verbs import (
        BalanceAnswer,
        DivideAnswer,
        PlaceAnswer,
        ShareAnswer,
        SplitAnswer,
        balance,
        divide,
        place,
        share,
        split,
    )
    from fairlead.model.errors import FairleadError, InputError, InvariantError

__version__ = "0.2.0"

_OWNERS = {
    "fairlead.api.planning": ("Explanation", "PlanAnswer", "WhatIfAnswer", "explain", "plan", "what_if"),
    "fairlead.api.simulation": ("SimulationAnswer", "simulate"),
    "fairlead.api.snapshot": ("Snapshot", "read"),
    "fairlead.api.verbs": (
        "BalanceAnswer",
        "DivideAnswer",
        "PlaceAnswer",
        "ShareAnswer",
        "SplitAnswer",
        "balance",
        "divide",
        "place",
        "share",
        "split",
    ),
    "fairlead.model.errors": ("FairleadError", "InputError", "InvariantError"),
}
"""The modules, and the public names that each has."""

__all__ = [
    "BalanceAnswer",
    "DivideAnswer",
    "Explanation",
    "FairleadError",
    "InputError",
    "InvariantError",
    "PlaceAnswer",
    "PlanAnswer",
    "ShareAnswer",
    "SimulationAnswer",
    "Snapshot",
    "SplitAnswer",
    "WhatIfAnswer",
    "__version__",
    "balance",
    "divide",
    "explain",
    "place",
    "plan",
    "read",
    "share",
    "simulate",
    "split",
    "what_if",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _OWNERS.items():
        if name in names:
            found = getattr(import_module(module), "ClusterSnapshot" if name == "Snapshot" else name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'fairlead' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
