"""The five verbs as functions: a problem as a mapping in, an answer out. One level each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fairlead.api.answer import Answer
from fairlead.api.plain import PathLike, plain, text_of
from fairlead.engine import explain_disk, explain_fleet, explain_node, explain_queue
from fairlead.kube.admission.review import patch_of
from fairlead.kube.manifests.splitting import Splitting
from fairlead.kube.manifests.tier import Existing, read_existing
from fairlead.pictures import balance as balance_text
from fairlead.pictures import divide as divide_text
from fairlead.pictures import place as place_text
from fairlead.pictures import share as share_text
from fairlead.pictures import split as split_text
from fairlead.pictures.html import verbs as verbs_html
from fairlead.pictures.html.parts import Html
from fairlead.problems import balance as balance_problem
from fairlead.problems import divide as divide_problem
from fairlead.problems import place as place_problem
from fairlead.problems import share as share_problem
from fairlead.settings import DEFAULTS, read_tier
from fairlead.text.documents import strict

if TYPE_CHECKING:
    from rich.console import Console

Problem = Mapping[str, Any]


class VerbAnswer(Answer):
    """What the answers of the verbs share."""

    def __init__(
        self,
        verb: Any,
        problem: Problem,
        picture: Callable[["Console", Any, Any], None],
        html: Callable[[Any], Html],
        lines: Callable[[Any], Sequence[str]],
    ) -> None:
        asked = strict(plain(problem, "$"), verb.PROBLEM)
        decision = verb.solve(asked)
        super().__init__(
            verb.answer(asked, decision),
            lambda screen: picture(screen, asked, decision),
            partial(html, decision),
        )
        self._sentences = partial(lines, decision)

    @property
    def explanation(self) -> tuple[str, ...]:
        """Why, in sentences: those of `--explain`."""
        return tuple(self._sentences())


class LevelAnswer(VerbAnswer):
    """The answer of a level that places replicas."""

    @property
    def unplaced(self) -> int:
        """Replicas that found no place."""
        return self._value("unplaced", 0)

    @property
    def reason(self) -> str | None:
        """The code of what stands in the way, None where nothing does."""
        return self._value("reason", None)

    @property
    def message(self) -> str:
        """The same as a sentence, empty where nothing stands in the way."""
        return self._value("message", "")

    @property
    def cure(self) -> str | None:
        """What could change it: `room`, `eviction`, `edit` or `nothing`."""
        return self._value("cure", None)

    @property
    def trace(self) -> dict[str, Any]:
        """What the decision looked at."""
        return self._value("trace", {})


class DivideAnswer(LevelAnswer):
    """Replicas over clusters."""

    @property
    def placements(self) -> dict[str, int]:
        """Replicas of each cluster."""
        return self._value("placements", {})

    @property
    def floors(self) -> dict[str, int]:
        """What each cluster is owed in full."""
        return self._value("floors", {})

    @property
    def residual(self) -> int:
        """Replicas left after the floors."""
        return self._value("residual", 0)

    @property
    def kept(self) -> bool:
        """Whether the whole last result was kept."""
        return self._value("kept", False)

    @property
    def rule(self) -> str:
        """By which rule the rest was handed out."""
        return self._value("rule", "")


class ShareAnswer(LevelAnswer):
    """A cluster between queues, namespaces and jobs."""

    @property
    def queues(self) -> dict[str, dict[str, Any]]:
        """Each queue: `deserved`, `allocated`, `requested`, `share` and `distance`."""
        return self._value("queues", {})

    @property
    def namespaces(self) -> list[dict[str, Any]]:
        """Each namespace of each queue."""
        return self._value("namespaces", [])

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Each job: `admitted`, `pending` and `reason`."""
        return self._value("jobs", {})

    @property
    def evictions(self) -> list[dict[str, Any]]:
        """Replicas that must go, with the job that they go `for`."""
        return self._value("evictions", [])


class SplitAnswer(VerbAnswer):
    """The answer to an admission review; `to_dict()` is the AdmissionReview."""

    @property
    def allowed(self) -> bool:
        """Whether the object is admitted."""
        return bool(self._record["response"]["allowed"])

    @property
    def patch(self) -> list[dict[str, Any]]:
        """The operations of the JSON patch, none where nothing changes."""
        return [dict(each) for each in patch_of(self._record)]


class PlaceAnswer(LevelAnswer):
    """Replicas on nodes."""

    @property
    def placements(self) -> dict[str, int]:
        """New replicas of each node."""
        return self._value("placements", {})

    @property
    def capacity(self) -> dict[str, int | None]:
        """Replicas that would fit each node, None where there is no limit."""
        return self._value("capacity", {})

    @property
    def pins(self) -> dict[str, list[dict[str, Any]]]:
        """Cores and volumes of each replica, by node."""
        return self._value("pins", {})


class BalanceAnswer(LevelAnswer):
    """Storage replicas on nodes and disks, or moves worth making."""

    @property
    def placements(self) -> list[dict[str, Any]]:
        """`node` and `disk` of each storage replica."""
        return self._value("placements", [])

    @property
    def moves(self) -> list[dict[str, Any]]:
        """Moves, where the problem asks for them."""
        return self._value("moves", [])

    @property
    def scores(self) -> dict[str, Any]:
        """The scores of nodes and disks for the first replica."""
        return self._value("scores", {})


def divide(problem: Problem) -> DivideAnswer:
    """Divide the replicas of a workload over clusters; the problem of `fairlead divide` (docs/levels/fleet.md)."""
    return DivideAnswer(divide_problem, problem, divide_text.picture, verbs_html.division, explain_fleet.lines)


def share(problem: Problem) -> ShareAnswer:
    """Share a cluster between queues, namespaces and jobs; the problem of `fairlead share` (docs/levels/queue.md)."""
    return ShareAnswer(share_problem, problem, share_text.picture, verbs_html.sharing, explain_queue.lines)


def split(
    review: Problem, *, state: PathLike | Mapping[str, Any] | Sequence[Problem] | None = None, config: Any = None
) -> SplitAnswer:
    """Answer an admission review: on-demand or spot (docs/levels/tier.md).

    `state` has the objects that exist: a file, one mapping or many; `config` is a file or a mapping.
    """
    if isinstance(state, Sequence) and not isinstance(state, str):
        state = {"apiVersion": "v1", "kind": "List", "items": list(state)}
    existing = Existing() if state is None else read_existing(*text_of(state, "state"))
    settings = DEFAULTS.tier if config is None else read_tier(*text_of(config, "config"))
    verb = Splitting(existing, settings.choice())
    return SplitAnswer(verb, review, split_text.picture, verbs_html.verdict, lambda answered: answered.sentences)


def place(problem: Problem) -> PlaceAnswer:
    """Place replicas on nodes; the problem of `fairlead place` (docs/levels/node.md)."""
    return PlaceAnswer(place_problem, problem, place_text.picture, verbs_html.placement, explain_node.lines)


def balance(problem: Problem) -> BalanceAnswer:
    """Put storage replicas on nodes and disks; the problem of `fairlead balance` (docs/levels/disk.md)."""
    return BalanceAnswer(balance_problem, problem, balance_text.picture, verbs_html.disks, explain_disk.lines)
