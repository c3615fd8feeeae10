"""What a verb is given with `-f`: problems, or manifests, which are read as `plan` reads them. Several add up."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairlead.cli.main import EXIT_BAD_INPUT, EXIT_OK
from fairlead.cli.verb import read
from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.kube.manifests.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Given:
    """The sources in order; `texts` has what was read of each that is no directory."""

    sources: tuple[str, ...]
    texts: dict[str, bytes]
    are_manifests: bool

    @property
    def name(self) -> str:
        """The sources in a message."""
        return ", ".join(self.sources)


def given(sources: Sequence[str]) -> Given:
    """The texts of the sources. Objects of Kubernetes and problems beside each other are bad input."""
    texts = {source: read(source) for source in sources if not Path(source).is_dir()}
    problems = [source for source, raw in texts.items() if not _is_manifest(raw)]
    if problems and len(problems) < len(set(sources)):
        raise InputError(problems[0], "is a problem, and other files are manifests; expected one or the other")
    return Given(tuple(dict.fromkeys(sources)), texts, not problems)


def _is_manifest(raw: bytes) -> bool:
    return b"apiVersion" in raw and b"kind" in raw


def catalogue_of(asked: Given) -> "Catalogue":
    """The objects of the manifests; what cannot be read is told on standard error, and the others go on."""
    from fairlead.kube.manifests.view import read_catalogue

    found = read_catalogue(asked.sources, texts=asked.texts)
    print_errors(found.errors)
    return found


def print_errors(errors: Sequence[InputError]) -> None:
    """A line on standard error for each."""
    for error in errors:
        click.echo(f"fairlead: {error}", err=True)


def exit_code(found: "Catalogue", keep_going: bool) -> int:
    """That of bad input where a manifest could not be read, unless the user goes on in spite of it."""
    return EXIT_BAD_INPUT if found.unread and not keep_going else EXIT_OK
