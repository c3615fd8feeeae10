"""The answer to an admission review: the verdict, then what the patch changes."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.kube.admission.review import Review
    from fairlead.kube.manifests.splitting import Answered


def picture(screen: "Console", review: "Review", answered: "Answered") -> None:
    """The verdict in sentences, then what the patch changes."""
    from fairlead.engine.explain_tier import lines
    from fairlead.kube.admission.review import patch_of

    if answered.decision is None:
        status = answered.review["response"].get("status")
        screen.print(f"refused: {status['message']}" if status else "allowed", markup=False)
        return
    for line in lines(answered.decision):
        screen.print(line, markup=False)
    for operation in patch_of(answered.review):
        value = json.dumps(operation["value"], ensure_ascii=False) if "value" in operation else ""
        screen.print(f"  {operation['op']:<7} {operation['path']}  {value}".rstrip(), markup=False)
