"""A workload: what a user wants replicas of, and every wish that steers them through the levels."""

from fairlead.dataclass import dataclass
from fairlead.model.owners import Exempt
from fairlead.model.shape import Shape

AUTO = "auto"
COMMUNISM = "communism"
"""Its other name."""
GLOBAL_GREEDY = "global-greedy"
STRATEGIES = (AUTO, COMMUNISM, GLOBAL_GREEDY)
"""Those that a workload may name; the others of the node level count replicas a node."""


def strategy_named(text: str) -> str:
    """A strategy by the first of its names."""
    return AUTO if text == COMMUNISM else text


def odd_strategy(annotation: str, given: str) -> str:
    """What is wrong with the strategy that an annotation names, as a sentence; empty where nothing is."""
    if given in ("", *STRATEGIES):
        return ""
    return f"annotation {annotation}: {given!r} is not a strategy; expected one of {', '.join(STRATEGIES)}"


SHORT_KINDS = {
    "deploy": "deployment", "sts": "statefulset", "rs": "replicaset", "ds": "daemonset", "cj": "cronjob",
    "rc": "replicationcontroller", "po": "pod", "no": "node", "vol": "volume",
}  # fmt: skip
"""What people type for a kind; a plural is its kind too."""


def kind_named(text: str) -> str:
    """The kind, in small letters, that a person means: `deploy`, `deployments` and `Deployment` are one."""
    word = text.lower()
    return SHORT_KINDS.get(word) or SHORT_KINDS.get(word.removesuffix("s")) or word.removesuffix("s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`replicas` is what the user asks for in all; which of them exist already is the snapshot's matter.

    `min_available` is the text of the tier wish, None where there is none; `tiered` says whether the kind takes part
    in tiers at all. `queue` is empty where the workload names none.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    replicas: int
    shape: Shape
    tiered: bool = False
    min_available: str | None = None
    first_ordinal: int = 0
    exempt: Exempt = Exempt.NONE
    held: str = ""
    """Why nothing new of it may start, whatever room there is; empty where it may."""
    queue: str = ""
    priority: int = 0
    least_together: int = 1
    """The gang's size: fewer than this many replicas are of no use."""
    gang: str = ""
    """Workloads of one gang start together: `least_together` is then that of all of them."""
    task: str = ""
    """Its role in the gang."""
    task_minimums: tuple[tuple[str, int], ...] = ()
    """Replicas of each task that the gang starts with at least."""
    min_resources: tuple[tuple[str, int], ...] = ()
    """What has to be free before the gang starts."""
    created: str = ""
    idle: str = ""
    """Why it asks for no replicas, where it says so: it is suspended, or done."""
    strategy: str = AUTO

    @property
    def key(self) -> str:
        """What identifies it within its cluster."""
        return f"{self.kind}/{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        """What a person calls it."""
        return f"{self.namespace}/{self.name}"

    def is_called(self, text: str) -> bool:
        """Whether a person who says this means it: `web`, `shop/web`, `deploy/web`, `deployment/shop/web`."""
        if text in (self.name, self.title):
            return True
        kind, _, name = text.partition("/")
        return kind_named(kind) == kind_named(self.kind) and name in (self.name, self.title)
