"""The pages as the site needs them: README as its first page, and links that stay inside it."""

import os
import re
import shutil
from pathlib import Path

FRONT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages at the root of the repository, and where the site has them."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def stage(root: Path, out: Path) -> None:
    """Write every page and picture into `out`, which is emptied first."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(root / "docs", out)
    for path in sorted(out.rglob("*.md")):
        source = root / "docs" / path.relative_to(out)
        path.write_text(rewritten(source.read_text(), source, path, root, out))
    for name, place in FRONT.items():
        path = out / place
        path.write_text(rewritten((root / name).read_text(), root / name, path, root, out))


def rewritten(text: str, source: Path, path: Path, root: Path, out: Path) -> str:
    """The text with its links turned; what is inside fences stays as it is."""

    def turned(match: re.Match[str]) -> str:
        picture, words, target, anchor = match[1], match[2], match[3], match[4] or ""
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        place = _place((source.parent / target).resolve(), root, out)
        if place is None:
            return f"{words} (`{os.path.relpath((source.parent / target).resolve(), root)}`)"
        return f"{picture}[{words}]({os.path.relpath(place, path.parent)}{anchor})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(turned, part) for part in parts)


def _place(target: Path, root: Path, out: Path) -> Path | None:
    """Where the site has a file of the repository; None where it does not."""
    if target.is_dir():
        target = target / "README.md"
    if target.parent == root and target.name in FRONT:
        return out / FRONT[target.name]
    docs = root / "docs"
    return out / target.relative_to(docs) if target.is_relative_to(docs) and target.exists() else None
