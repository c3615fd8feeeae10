"""A page that is not built by Node: two small files in its place."""

from pathlib import Path

import pytest

from fairlead.web import assets


@pytest.fixture
def built(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script and a style."""
    folder = tmp_path_factory.mktemp("static")
    (folder / assets.SCRIPT).write_text("let ended = '</script>';")
    (folder / assets.STYLE).write_text("body { margin: 0 }")
    monkeypatch.setattr(assets, "FOLDER", folder)
    return folder


@pytest.fixture
def unbuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No page at all."""
    monkeypatch.setattr(assets, "FOLDER", tmp_path / "nothing")
