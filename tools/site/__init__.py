"""The documentation as a static site with search (docs/decisions/0292)."""
