"""The bill of materials of an image, in CycloneDX's form."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

from tools.image.lock import Pin, canonical

Component = dict[str, Any]


def bill(version: str, commit: str, pins: list[Pin], base: Mapping[str, Any]) -> dict[str, Any]:
    """What the image is made of: the packages of the lock, the interpreter, and what of the base came along.

    The same contents give the same bill: its serial number is derived from them.
    """
    parts = [_package(pin) for pin in pins] + _base(base)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, repr((version, commit, [each["purl"] for each in parts])))
    own = {
        "type": "container",
        "name": "fairlead",
        "version": version,
        "bom-ref": f"pkg:pypi/fairlead@{version}",
        "purl": f"pkg:pypi/fairlead@{version}",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "properties": [{"name": "commit", "value": commit}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": own},
        "components": parts,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in parts]}],
    }


def _package(pin: Pin) -> Component:
    purl = f"pkg:pypi/{canonical(pin.name)}@{pin.version}"
    found: Component = {"type": "library", "name": pin.name, "version": pin.version, "bom-ref": purl, "purl": purl}
    text = _license(pin.name)
    return found | ({"licenses": [{"license": {"name": text}}]} if text else {})


def _license(name: str) -> str:
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return ""
    named = about.get_all("License-Expression") or []
    words = [each.split(" :: ")[-1] for each in about.get_all("Classifier") or () if each.startswith("License ::")]
    return str(next(iter([*named, *words]), ""))


def _base(base: Mapping[str, Any]) -> list[Component]:
    python = {"type": "platform", "name": "python", "version": base["python"]}
    found = [python | dict.fromkeys(("bom-ref", "purl"), f"pkg:generic/python@{base['python']}")]
    for name, version in sorted(base["packages"].items()):
        purl = f"pkg:deb/debian/{name}@{version}"
        found.append({"type": "library", "name": name, "version": version, "bom-ref": purl, "purl": purl})
    return found
