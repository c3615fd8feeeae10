"""What-ifs as a person writes them, on the command line or in the address of a page."""

from fairlead.dataclass import dataclass
from fairlead.engine import whatif
from fairlead.model.errors import InputError
from fairlead.model.selectors import integer
from fairlead.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Changes of a cluster, each in the words of its option of `fairlead plan`."""

    drain: tuple[str, ...] = ()
    lose: tuple[str, ...] = ()
    add_nodes: int | None = None
    like: str = ""
    scale: tuple[str, ...] = ()
    weight: tuple[str, ...] = ()


def changed(view: Snapshot, asked: Changes) -> Snapshot:
    """The snapshot with every change that was asked for; the same one where there is none."""
    if bool(asked.add_nodes) != bool(asked.like):
        raise InputError("--add-nodes", "goes together with --like, which names the node to copy")
    there = view
    if asked.add_nodes:  # before others go: they are like the node as it is, and stay where it does not
        view = whatif.extended(view, asked.add_nodes, asked.like.removeprefix("node/"))
    for node in asked.drain:
        view = whatif.drained(view, node.removeprefix("node/"))
    for each in asked.lose:
        view = whatif.lost(view, *_pair("--lose", each), among=there)
    for each in asked.scale:
        name, count = _pair("--scale", each)
        view = whatif.scaled(view, name, whole("--scale", count))
    for each in asked.weight:
        name, count = _pair("--weight", each)
        view = whatif.weighted(view, name.removeprefix("ns/"), whole("--weight", count))
    return view


def _pair(option: str, text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise InputError(option, f"{text!r}; expected NAME=VALUE")
    return name, value


def whole(option: str, text: str) -> int:
    """The number that an option's text says."""
    number = integer(text)
    if number is None:
        raise InputError(option, f"{text!r} is not a whole number")
    return number
