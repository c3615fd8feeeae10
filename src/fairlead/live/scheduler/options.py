"""How a scheduler works: what its command line and its configuration say."""

from fairlead.dataclass import dataclass
from fairlead.live.queue.promises import DEADLINE
from fairlead.live.scheduler.volume_binder import PATIENCE
from fairlead.model.workload import AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`shadow` decides and reports but writes nothing. `strategy` is for workloads that name none.

    Every `self_check` seconds (0: never) the caches are compared with fresh lists. `volume_seconds` is how long a
    pod's room is kept for volumes that do not come, `gang_seconds` how long a gang that was begun may take.
    """

    name: str = "fairlead"
    shadow: bool = False
    strategy: str = AUTO
    self_check: float = 0.0
    volume_seconds: float = PATIENCE
    gang_seconds: float = DEADLINE
