"""What goes into the image: the pinned packages that run, no others, and a bill that names all of it."""

import re
from pathlib import Path

from tools.image.bill import bill
from tools.image.lock import LOCK, Pin, canonical, pins, runtime

ROOT = Path(__file__).parents[2]


def test_packages_of_the_image_are_those_that_run() -> None:
    """What Fairlead imports is in, with hashes; what tests and builds need is not."""
    names = {canonical(pin.name) for pin in runtime(LOCK.read_text())}
    assert {"numpy", "msgspec", "click", "aiohttp", "uvloop", "cryptography", "structlog", "multidict", "cffi"} <= names
    assert {"opentelemetry-sdk", "protobuf"} <= names
    assert not names & {"pytest", "hypothesis", "mypy", "ruff", "setuptools", "highspy", "polars", "coverage"}
    assert all(pin.hashes for pin in runtime(LOCK.read_text()))


def test_pins_read_the_lock_and_write_it_again() -> None:
    """Nothing of an entry is lost."""
    text = LOCK.read_text()
    found = list(pins(text))
    assert len(found) == len(re.findall(r"^\S+==", text, re.MULTILINE))
    assert sum(len(pin.hashes) for pin in found) == text.count("--hash=")
    assert found[0].line() in text


def test_bill_names_every_part_once_and_is_the_same_for_the_same_contents() -> None:
    """Packages, the interpreter and the base's libraries, each with an address; another content, another number."""
    some = [Pin(name="Some_Name", version="1.0", hashes=("sha256:0",))]
    base = {"python": "3.11.2", "packages": {"libc6": "2.36"}}
    first, again = (bill("0.2.0", "abc", some, base) for _ in range(2))
    assert first == again
    assert (first["bomFormat"], first["specVersion"]) == ("CycloneDX", "1.6")
    purls = [each["purl"] for each in first["components"]]
    assert purls == ["pkg:pypi/some-name@1.0", "pkg:generic/python@3.11.2", "pkg:deb/debian/libc6@2.36"]
    assert first["dependencies"][0]["dependsOn"] == purls
    assert bill("0.2.0", "abc", some, {**base, "packages": {}})["serialNumber"] != first["serialNumber"]


def test_image_is_described_as_it_is_run() -> None:
    """Not root, nothing but the program in the last stage, no registry named, the base an argument."""
    text = (ROOT / "Containerfile").read_text()
    assert re.findall(r"^FROM (.*)$", text, re.MULTILINE) == ["${BASE} AS built", "scratch"]
    assert "\nUSER 65532:65532\n" in text
    assert 'ENTRYPOINT ["python3", "-P", "-m", "fairlead"]' in text
