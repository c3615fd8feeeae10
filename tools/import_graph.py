"""Draws the import graph of the packages into ARCHITECTURE.md.

python -m tools.import_graph            write it
python -m tools.import_graph --check    exit with 1 where the drawing is not current
"""

import ast
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "fairlead"
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- imports: begin -->", "<!-- imports: end -->"
OPENED = ("live", "levels", "kube")
"""Packages whose sub-packages are drawn one by one."""


def package_of(module: str) -> str:
    """The box that a module belongs to: `live/queue` for `fairlead.live.queue.gangs`."""
    parts = module.split(".")[1:]
    if not parts:
        return ""
    folder = SOURCE.joinpath(*parts[:2])
    inner = len(parts) > 1 and parts[0] in OPENED and folder.is_dir()
    return "/".join(parts[:2]) if inner else parts[0]


def imports() -> dict[str, set[str]]:
    """For every box the boxes that it imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        own = package_of(".".join(["fairlead", *path.relative_to(SOURCE).with_suffix("").parts]))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairlead."):
                other = package_of(node.module or "")
                if other != own:
                    found[own].add(other)
    return found


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without arrows that a longer way implies."""
    return {
        box: {other for other in others if not any(other in below(graph, via) for via in others if via != other)}
        for box, others in graph.items()
    }


def below(graph: dict[str, set[str]], box: str) -> set[str]:
    """Everything that a box imports, directly or not."""
    seen: set[str] = set()
    left = [box]
    while left:
        for other in graph.get(left.pop(), set()) - seen:
            seen.add(other)
            left.append(other)
    return seen


def drawing() -> str:
    """The graph as a Mermaid diagram."""
    rows = [
        f"  {_name(box)} --> {_name(other)}"
        for box, others in sorted(reduced(imports()).items())
        if box not in ("__main__", "__init__")
        for other in sorted(others)
    ]
    return "\n".join(["```mermaid", "graph TD", *rows, "```"])


def _name(box: str) -> str:
    return f"{box.replace('/', '_')}[{box}]"


def page(text: str) -> str:
    """The page with the drawing between its marks."""
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}\n{drawing()}\n{END}{tail}"


def main() -> int:
    """Write the drawing, or check it."""
    text = PAGE.read_text()
    wanted = page(text)
    if "--check" in sys.argv[1:]:
        return int(text != wanted)
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
