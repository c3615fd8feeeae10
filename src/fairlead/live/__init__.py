"""The components that act on a cluster, one package each, and what they share (`runtime`).

A component watches, calls the same pure functions as `fairlead plan`, and writes through `kube`.
"""

import sys
from typing import Any

if "rich" not in sys.modules:
    # Where rich is installed, structlog imports it to draw tracebacks, which no log of ours has: a fifth of the time
    # that a component takes to start (docs/decisions/0450).
    modules: dict[str, Any] = sys.modules
    modules["rich"] = None
    try:
        import structlog as structlog
    finally:
        del modules["rich"]
