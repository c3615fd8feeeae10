"""Every test in this folder is marked `install`: it uses what people install (`make test-install`)."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here, before anything is selected by mark."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.install)
