"""What the page makes of a patch."""

from typing import Any

from fairlead.web.patch import Patch


def patched(old: Any, patch: Patch | None) -> Any:
    """The record that the patch leads to."""
    if patch is None:
        return old
    if "=" in patch:
        return patch["="]
    if isinstance(old, list):
        result = [*old[: patch["n"]], *[None] * (patch["n"] - len(old))]
        for place, inner in patch["~"].items():
            result[int(place)] = patched(result[int(place)], inner)
        return result
    kept = {key: value for key, value in old.items() if key not in patch.get("-", ())}
    return kept | {key: patched(kept.get(key), inner) for key, inner in patch["~"].items()}
