"""What one replica asks of a node."""

from collections.abc import Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.model.amounts import CPU, NANO, Quantity, nanos
from fairlead.model.errors import InputError
from fairlead.model.mounts import Mount

SHARE_BASE = 100
MOST_PIECES = 10**9
"""Of one request; far above any machine, and small enough for every sum to stay exact in 63 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequest:
    """Amounts of divisible resources in their units, 0 left out; and what is bound to parts of the node.

    `pieces` is bound cpu in shares of a core, `share_base` pieces to a core; 0 binds none. `max_share` is the most
    cores of a node that may be shared (None: no limit). Bound cpu is not among the amounts.
    """

    amounts: Mapping[str, int] = field(default_factory=dict)
    pieces: int = 0
    share_base: int = SHARE_BASE
    max_share: int | None = None
    mounts: tuple[Mount, ...] = ()

    @property
    def cpu_milli(self) -> int:
        """Cpu that is not bound."""
        return self.amounts.get(CPU, 0)

    @property
    def automatic(self) -> tuple[Mount, ...]:
        """The mounts for which a volume of the node is chosen."""
        return tuple(mount for mount in self.mounts if mount.auto)


def pieces_of(cpu: Quantity, share_base: int, path: str) -> int:
    """Bound cpu in pieces, exactly: 2.3 of base 100 is 230. What is no whole number of pieces cannot be bound."""
    pieces, rest = divmod(nanos(cpu) * share_base, NANO)
    if rest:
        raise InputError(path, f"{cpu} cpu is no whole number of pieces; expected a multiple of 1/{share_base} core")
    if pieces <= 0:
        raise InputError(path, f"{cpu} cpu cannot be bound; expected more than 0 where bindCpu is true")
    if pieces > MOST_PIECES:
        raise InputError(path, f"{cpu} cpu is too large to be bound; expected at most {MOST_PIECES} pieces")
    return pieces
