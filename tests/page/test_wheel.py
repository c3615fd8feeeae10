"""What people install carries the page."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.page.conftest import ROOT


def test_wheel_has_the_built_page(tmp_path: Path) -> None:
    """As it was built, byte by byte."""
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    with ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        for name in ("app.js", "app.css"):
            assert wheel.read(f"fairlead/web/static/{name}") == (ROOT / "src/fairlead/web/static" / name).read_bytes()
