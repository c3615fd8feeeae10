"""python -m tools.reference [--check]: write docs/reference, or exit with 1 and name what is behind."""

import sys
from pathlib import Path

from tools.reference.pages import pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"


def behind() -> list[tuple[Path, str]]:
    """The files whose text is another one, or that are not there."""
    made = [(FOLDER / name, text) for name, text in pages()]
    return [(path, text) for path, text in made if not path.exists() or path.read_text() != text]


def main() -> int:
    """Write, or only say."""
    late, check = behind(), "--check" in sys.argv[1:]
    for path, text in late:
        print(f"reference: {'is behind; run `make reference`' if check else 'written'}: {path.name}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if late and check else 0


if __name__ == "__main__":
    sys.exit(main())
