"""Manifests from files, and objects that were read live, to the snapshot that a plan is made from."""

from collections.abc import Callable, Mapping, Sequence

from fairlead.engine.plan_settings import DEFAULT_SETTINGS, PlanSettings
from fairlead.kube.manifests.catalogue import Catalogue, catalogue
from fairlead.kube.manifests.load import NO_TEXTS, read_manifests
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.snapshot import Snapshot


def viewed(
    sources: Sequence[str],
    live: Sequence[Manifest] = (),
    on_progress: OnProgress = no_progress,
    warn: Callable[[str], None] = lambda words: None,
    settings: PlanSettings = DEFAULT_SETTINGS,
) -> tuple[Catalogue, Snapshot]:
    """Everything the sources say; what is broken is among the catalogue's errors, in the order it was read."""
    found = read_catalogue(sources, live, on_progress, warn)
    return found, snapshot(found, settings, on_progress)


def read_catalogue(
    sources: Sequence[str],
    live: Sequence[Manifest] = (),
    on_progress: OnProgress = no_progress,
    warn: Callable[[str], None] = lambda words: None,
    texts: Mapping[str, bytes] = NO_TEXTS,
) -> Catalogue:
    """The objects of the sources, for `plan` and for the verbs; `texts` are sources that were read before."""
    manifests, errors = read_manifests(sources, on_progress, warn, texts)
    found = catalogue([*live, *manifests], on_progress)
    found.errors[:0] = errors
    found.unread = len(found.errors)
    return found
