"""The commands of a page of the documentation, run as a reader would type them: block by block, by bash."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page:
    """The `sh` blocks of a page by the heading that they are below. `left` are those that were not run yet."""

    def __init__(self, name: str, folder: Path, kubeconfig: Path, **programs: Path) -> None:
        """`folder` is where they are run; `programs` are found by their names before all others."""
        found = re.split(r"^## (.*)$", (ROOT / "docs" / name).read_text(), flags=re.MULTILINE)
        self.left = {
            (heading, number): block
            for heading, text in zip(found[1::2], found[2::2], strict=True)
            for number, block in enumerate(BLOCK.findall(text))
        }
        self.folder = folder
        bin_folder = folder / "bin"
        bin_folder.mkdir(parents=True)
        for program, path in programs.items():
            (bin_folder / program).symlink_to(path)
        (folder / "deploy").symlink_to(ROOT / "deploy")
        own = Path(sys.executable).parent
        self._environment = {
            **os.environ,
            "PATH": f"{bin_folder}:{own}:/usr/bin:/bin",
            "HOME": str(folder),
            "KUBECONFIG": str(kubeconfig),
        }

    def run(self, heading: str, number: int = 0, *, replaced: dict[str, str] | None = None) -> str:
        """Run a block, with some of its words replaced; what it printed."""
        script = self.left.pop((heading, number))
        for word, other in (replaced or {}).items():
            assert word in script, f"{word} is not in the block of {heading}"
            script = script.replace(word, other)
        return self.shell(script)

    def shell(self, script: str) -> str:
        """Run a script in the folder; its output. It ends at the first command that fails."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout
