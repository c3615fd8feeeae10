"""All reasons that the program can give: what the modules of reasons define."""

from types import ModuleType

from fairlead.engine import reasons as engine
from fairlead.levels.disk import reasons as disk
from fairlead.levels.fleet import reasons as fleet
from fairlead.levels.node import reasons as node
from fairlead.levels.node.constraints import reasons as constraints
from fairlead.levels.queue import reasons as queue
from fairlead.levels.tier import reasons as tier
from fairlead.model.reasons import Reason

MODULES = (fleet, tier, queue, node, constraints, disk, engine)


def reasons_of(module: ModuleType) -> list[Reason]:
    """The reasons that a module defines, in its order."""
    return [value for value in vars(module).values() if isinstance(value, Reason)]


def every_reason() -> list[Reason]:
    """All reasons of all levels, and of their composition."""
    return [reason for module in MODULES for reason in reasons_of(module)]
