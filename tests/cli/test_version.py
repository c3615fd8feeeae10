"""`fairlead version` names the version, the commit and what it was tested with."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.controlplane.build import pinned

from fairlead import __version__
from fairlead.cli import version
from fairlead.cli.main import cli

ROOT = Path(__file__).parents[2]


def test_version_names_what_was_tested() -> None:
    """The tested Kubernetes is the one that the control plane for tests pins; it lies in the range that is expected."""
    record = json.loads(CliRunner().invoke(cli, ["version", "-o", "json"]).output)
    assert record["version"] == __version__
    assert record["kubernetes"]["tested"] == [pinned("k8s.io/kubernetes")]
    minors = [int(each.split(".")[1]) for each in (*version.EXPECTED, *version.TESTED)]
    assert minors[0] <= minors[2] <= minors[1]


def test_commit_is_that_of_the_build_or_of_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installed package has it inside; a copy of the package alone does not know it."""
    assert re.fullmatch(r"[0-9a-f]{40}|unknown", version.commit())
    package = tmp_path / "lib" / "site" / "fairlead"
    package.mkdir(parents=True)
    monkeypatch.setattr(version, "PACKAGE", package)
    assert version.commit() == "unknown"
    (package / "COMMIT").write_text("abc\n")
    assert version.commit() == "abc"
    shown = CliRunner().invoke(cli, ["version", "-o", "table"]).output
    assert shown.startswith(f"fairlead {__version__}, commit abc, Python 3.")


def test_changelog_has_the_version() -> None:
    """A heading of the changelog is this version with its date."""
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert any(re.fullmatch(rf"{re.escape(__version__)} — \d{{4}}-\d{{2}}-\d{{2}}", head) for head in heads)
