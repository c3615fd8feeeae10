"""Manifests from files, and objects that were read live, to the snapshot that a plan is made from."""

from collections.abc import Callable, Mapping, Sequence

from fairlead.engine.plan_settings import DEFAULT_SETTINGS, PlanSettings
from fairlead.kube.manifests.catalogue import Catalogue, catalogue
from fairlead.kube.manifests.load import NO_TEXTS, Manifest, read_manifests
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.snapshot import Snapshot


def viewed(
    sources: Sequence[str],
    live: Sequence[Manifest] = (),
    told: OnProgress = no_progress,
    warn: Callable[[str], None] = lambda words: None,
    settings: PlanSettings = DEFAULT_SETTINGS,
) -> tuple[Catalogue, Snapshot]:
    """Everything the sources say; what is broken is among the catalogue's errors, in the order it was read."""
    found = read_catalogue(sources, live, told, warn)
    return found, snapshot(found, settings, told)


def read_catalogue(
    sources: Sequence[str],
    live: Sequence[Manifest] = (),
    told: OnProgress = no_progress,
    warn: Callable[[str], None] = lambda words: None,
    texts: Mapping[str, bytes] = NO_TEXTS,
) -> Catalogue:
    """The objects of the sources, for `plan` and for the verbs; `texts` are sources that were read before."""
    manifests, errors = read_manifests(sources, told, warn, texts)
    found = catalogue([*live, *manifests], told)
    found.errors[:0] = errors
    found.unread = len(found.errors)
    return found
