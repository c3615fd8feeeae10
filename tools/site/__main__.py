"""python -m tools.site: stage the pages and write the site's configuration into build/; `make site` does the rest."""

from pathlib import Path

import yaml

from tools.site.contents import contents
from tools.site.stage import stage

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SCHEMES = (
    ("(prefers-color-scheme: light)", "default", "slate", "dark"),
    ("(prefers-color-scheme: dark)", "slate", "default", "light"),
)


def configuration(staged: Path) -> dict[str, object]:
    """For MkDocs. No font, script or picture comes from another origin."""
    return {
        "site_name": "Fairlead",
        "site_description": "Places replicas evenly, fairly and stably, in Kubernetes and around it, and says why.",
        "docs_dir": staged.name,
        "site_dir": "site",
        "use_directory_urls": False,
        "nav": contents(staged),
        "theme": {
            "name": "material",
            "font": False,
            "features": [
                "navigation.indexes",
                "navigation.top",
                "navigation.tabs",
                "search.suggest",
                "search.highlight",
                "content.code.copy",
                "toc.follow",
            ],
            "palette": [
                {
                    "media": media,
                    "scheme": scheme,
                    "primary": "indigo",
                    "accent": "teal",
                    "toggle": {"icon": "material/brightness-6", "name": f"Switch to {other}"},
                }
                for media, scheme, _, other in SCHEMES
            ],
        },
        "plugins": ["search"],
        "markdown_extensions": [
            "tables",
            "admonition",
            {"toc": {"permalink": True}},
            "pymdownx.highlight",
            "pymdownx.superfences",
        ],
        "validation": {"links": {"not_found": "warn", "anchors": "warn"}},
        "extra": {"generator": False},
    }


def main() -> None:
    """Everything below build/."""
    staged = BUILD / "site-pages"
    stage(ROOT, staged)
    (BUILD / "mkdocs.yml").write_text(yaml.safe_dump(configuration(staged), sort_keys=False))


if __name__ == "__main__":
    main()
