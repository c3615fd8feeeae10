"""Files, directories and standard input to Kubernetes objects, each with the place it came from.

A file that cannot be read does not spoil the others: its error is returned beside the objects, and the caller
decides whether that is fatal.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from fairlead.kube.manifests.manifest import Manifest, items_of
from fairlead.model.errors import InputError
from fairlead.model.progress import OnProgress, no_progress
from fairlead.text.documents import MOST_BYTES, documents, standard_input
from fairlead.text.mistakes import UNREADABLE

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "standard input"
NO_TEXTS: Mapping[str, bytes] = MappingProxyType({})
NO_PATH = "is no path; expected one without a null byte"
LARGE = 2**20
"""Bytes of one text from which on reading it is a step that nobody can look into."""
SOURCES = {
    "kustomization": "is a kustomization; build it first: kubectl kustomize DIR | fairlead plan -f -",
    "chart": "belongs to a Helm chart; render it first: helm template CHART | fairlead plan -f -",
    "values": "holds the values of a Helm chart; render it first: helm template CHART | fairlead plan -f -",
}
"""What to do with files that manifests are made from, by the name of the file without its ending."""
MUCH_YAML = 4 * 2**20
"""Bytes of YAML from which on its reader is worth a word: its parser takes about a second for each MiB or two."""


def read_manifests(
    sources: Sequence[str],
    on_progress: OnProgress = no_progress,
    warn: Callable[[str], None] = lambda words: None,
    texts: Mapping[str, bytes] = NO_TEXTS,
) -> tuple[list[Manifest], list[InputError]]:
    """Every object of the sources in order (files of a directory by path), and the errors met on the way.

    `on_progress` follows the bytes read; `warn` is given a sentence where YAML will take long; `texts` are those of
    sources that were read before.
    """
    manifests: list[Manifest] = []
    errors: list[InputError] = []
    files = [
        (source, len(texts[source])) if source in texts else file
        for source in sources
        for file in _files(source, errors)
    ]
    whole, done = sum(size for _, size in files), 0
    for name, size in files:
        on_progress(f"reading {name}", done, whole if size < LARGE else None)
        done += size
        found = _read(name, warn, texts.get(name))
        errors += (each for each in found if isinstance(each, InputError))
        manifests += (each for each in found if isinstance(each, Manifest))
    return manifests, errors


def _read(name: str, warn: Callable[[str], None], raw: bytes | None) -> Sequence[Manifest | InputError]:
    try:
        if raw is None:
            raw = standard_input() if name == STDIN else Path(name).read_bytes()
    except InputError as error:
        return [error]
    except OSError as error:
        return [InputError(name, (error.strerror or str(error)).lower())]
    except ValueError:
        return [InputError(repr(name), NO_PATH)]
    name = STDIN if name == "-" else name
    if len(raw) > MUCH_YAML and raw.lstrip()[:1] not in (b"{", b"["):
        warn(f"{name}: {len(raw) >> 20} MiB of YAML takes its parser a while; JSON is read ten times as fast")
    return parse_manifests(raw, name)


def parse_manifests(raw: bytes, source: str) -> Sequence[Manifest | InputError]:
    """The objects of one text; lists are taken apart."""
    if raw.lstrip()[:1] == b"{" and b"\0" not in raw and len(raw) <= MOST_BYTES:
        # Bulk comes as JSON; msgspec reads it an order of magnitude faster than anything that checks for duplicates.
        try:
            return _bulk(raw, source)
        except UNREADABLE:
            pass  # JSON lines, or a mistake: the slower reader tells them apart and names the place
    found: list[Manifest | InputError] = []
    for document in documents(raw, source):
        found += [document] if isinstance(document, InputError) else objects_of(document.place, document.value)
    return found


def _bulk(raw: bytes, source: str) -> Sequence[Manifest | InputError]:
    items = items_of(raw, source)
    if items is None:
        return list(objects_of(source, msgspec.json.decode(raw)))
    found: list[Manifest | InputError] = []
    for each in items:
        if isinstance(each, Manifest):
            found.append(each)
        else:
            found += objects_of(*each)
    return found


def objects_of(place: str, value: Any) -> Iterator[Manifest | InputError]:
    """The objects that a plain value is; a list of Kubernetes is taken apart."""
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        stem = Path(place).name.partition(".")[0].lower()
        yield InputError(
            place, SOURCES.get(stem, "is not a Kubernetes object; expected a mapping with apiVersion and kind")
        )
    elif not isinstance(value.get("apiVersion"), str):
        yield InputError(place, f"{value['kind']} has no apiVersion; expected a text such as apps/v1")
    elif not isinstance(value.get("metadata", {}) or {}, dict):
        yield InputError(place, f"{value['kind']}: metadata is not a mapping")
    elif value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for row, item in enumerate(value["items"]):
            yield from objects_of(f"{place} items[{row}]", _typed_item(item, value))
    else:
        yield Manifest(place, value)


def _typed_item(item: Any, parent: dict[str, Any]) -> Any:
    """An item of a typed list (`PodList`) as the API server sends it lacks kind and apiVersion: the list has them."""
    kind = parent["kind"].removesuffix("List")
    if isinstance(item, dict) and kind:
        return {"apiVersion": parent["apiVersion"], "kind": kind, **item}
    return item


def _files(source: str, errors: list[InputError]) -> list[tuple[str, int]]:
    """The files that a source stands for, with their sizes in bytes; 0 where that cannot be known.

    A file of a directory without a byte in it holds nothing, as one with comments alone does.
    """
    if source == "-":
        return [(STDIN, 0)]
    path = Path(source)
    try:
        if not path.is_dir():
            return [(source, path.stat().st_size if path.is_file() else 0)]
        files = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
        sizes = [(str(file), file.stat().st_size) for file in files]
    except OSError as error:
        errors.append(InputError(str(error.filename or source), (error.strerror or str(error)).lower()))
        return []
    if not files:
        errors.append(InputError(source, "has no .yaml, .yml or .json file"))
    return [(name, size) for name, size in sizes if size]
