"""The files under `deploy/` as objects, for tests that look at them or apply them."""

from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[1] / "deploy"


def listed(folder: str) -> list[str]:
    """The files and folders that the folder's kustomization names."""
    return list(yaml.safe_load((DEPLOY / folder / "kustomization.yaml").read_text())["resources"])


def deployed(*folders: str) -> list[dict[str, Any]]:
    """Every object of these folders, in the order of their lists; other folders that they build on are left out."""
    files = [DEPLOY / folder / name for folder in folders for name in listed(folder) if name.endswith(".yaml")]
    return [each for file in files for each in yaml.safe_load_all(file.read_text()) if each]
