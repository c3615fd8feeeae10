"""Reading: manifests in any form to what is planned."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairlead.api.plain import PathLike, plain, text_of
from fairlead.engine.plan_settings import DEFAULT_SETTINGS, PlanSettings
from fairlead.kube.manifests.catalogue import Catalogue, catalogue
from fairlead.kube.manifests.load import objects_of, parse_manifests, read_manifests
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.model.errors import InputError
from fairlead.model.snapshot import Snapshot

Objects = Mapping[str, Any]
Source = PathLike | bytes | Objects | Iterable[Objects]
"""A path, a text, an object, or many objects."""
Config = PathLike | Objects | None


class ClusterSnapshot:
    """What was read: clusters with their nodes, workloads, queues and volumes. It does not change.

    In the interface it is called `fairlead.Snapshot`; `fairlead.read` makes one.
    """

    def __init__(self, found: Catalogue, view: Snapshot, settings: PlanSettings) -> None:
        self._found = found
        self._view = view
        self._settings = settings

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of the clusters; one without a name is the empty text."""
        return tuple(site.name for site in self._view.sites)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of all nodes."""
        return tuple(name for site in self._view.sites for name in site.nodes.names)

    @property
    def workloads(self) -> tuple[str, ...]:
        """The names of all workloads, NAMESPACE/NAME."""
        own = [workload.title for site in self._view.sites for workload in site.workloads]
        return tuple(dict.fromkeys([*(workload.title for workload, _ in self._view.divided), *own]))

    @property
    def errors(self) -> tuple[InputError, ...]:
        """What could not be read or contradicts itself, each with its place; the rest was read all the same."""
        return tuple(self._found.errors)

    @property
    def not_counted(self) -> dict[str, int]:
        """Objects that a plan leaves out, by kind."""
        return dict(self._found.not_counted)

    def __repr__(self) -> str:
        mistakes = f", {len(self.errors)} mistakes" if self.errors else ""
        return (
            f"<fairlead.Snapshot: {len(self.clusters)} clusters, {len(self.nodes)} nodes, "
            f"{len(self.workloads)} workloads{mistakes}>"
        )


def read(*sources: Source, config: Config = None, strict: bool = False) -> ClusterSnapshot:
    """Manifests as a snapshot. Sources add up.

    A source is a path (a file, or a directory with all its `.yaml`, `.yml` and `.json` files), a text of YAML or JSON
    (a `str` of several lines, or `bytes`), an object as a mapping, or an iterable of such mappings. `config` is a
    configuration file, or its content as a mapping.

    What is broken is among the `errors` of the snapshot and the rest is read; with `strict` the first mistake is
    raised. Where nothing can be used at all, `InputError` is raised.
    """
    manifests: list[Manifest] = []
    errors: list[InputError] = []
    for number, source in enumerate(sources):
        for each in _manifests(source, f"sources[{number}]"):
            errors.append(each) if isinstance(each, InputError) else manifests.append(each)
    found = catalogue(manifests)
    found.errors[:0] = errors
    found.unread = len(found.errors)
    settings = settings_of(config)
    view = snapshot(found, settings)
    if found.errors and (strict or not found.objects):
        raise found.errors[0]
    if not found.objects:
        raise InputError("", "no object that a plan can use; expected nodes, workloads, volumes …")
    return ClusterSnapshot(found, view, settings)


def settings_of(config: Config) -> PlanSettings:
    """What a configuration says to a plan."""
    if config is None:
        return DEFAULT_SETTINGS
    from fairlead.settings import read_configuration

    return read_configuration(*text_of(config, "config")).plan_settings()


def _manifests(source: Source, place: str) -> Sequence[Manifest | InputError]:
    if isinstance(source, str) and "\n" in source:
        source = source.encode()
    if isinstance(source, bytes):
        return list(parse_manifests(source, place))
    if isinstance(source, str | os.PathLike):
        found, errors = read_manifests([str(source)])
        return [*errors, *found]
    if isinstance(source, Mapping):
        return list(objects_of(place, plain(source, place)))
    if not isinstance(source, Iterable):
        raise InputError(place, f"a value of type {type(source).__name__}; expected a path, a text or objects")
    return [
        each
        for row, value in enumerate(source)
        for each in objects_of(f"{place}[{row}]", plain(value, f"{place}[{row}]"))
    ]
