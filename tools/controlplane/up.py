"""`make cluster`: a control plane with KWOK nodes to try things on, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time

from tools.controlplane.another import VARIABLE
from tools.controlplane.api import ApiError
from tools.controlplane.build import BuildError, versions
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane
from tools.controlplane.processes import ControlPlaneError

EXAMPLES = """\
examples:
  make cluster                          10 nodes, 8 cpu and 32Gi each
  make cluster NODES=1000               more of them
  python -m tools.controlplane.up --nodes 6 --cpu 16 --spot 4
                                        4 of 6 nodes labelled as spot, the rest as on-demand
  python -m tools.controlplane.up --no-scheduler
                                        nobody binds pods, unless you run something that does
  python -m tools.controlplane.up --feature GenericWorkload --feature GangScheduling \\
      --api scheduling.k8s.io/v1alpha2  gangs as Kubernetes itself has them

In another terminal: export the KUBECONFIG that is printed, then use fairlead, kubectl or any client.
"""


def main() -> int:
    """The command line; 0 stopped as asked, 1 could not start."""
    arguments = _parser().parse_args()
    # As with Ctrl-C: leave the `with` block in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    try:
        with ControlPlane(_options(arguments)) as plane:
            _create_nodes(plane, arguments)
            _announce(plane, arguments, time.monotonic() - begin)
            while True:
                signal.pause()
    except KeyboardInterrupt:
        print("control plane: stopped, nothing left behind", flush=True)
        return 0
    except (BuildError, ControlPlaneError, ApiError) as error:
        print(f"control plane: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.controlplane.up",
        description="A real Kubernetes control plane on loopback, with nodes that exist only as objects.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--nodes", type=_count, default=10, metavar="N", help="how many nodes (default 10)")
    add("--spot", type=_count, metavar="N", help="label the first N nodes as spot and the others as on-demand")
    add("--cpu", default="8", metavar="QUANTITY", help="cpu of each node (default 8)")
    add("--memory", default="32Gi", metavar="QUANTITY", help="memory of each node (default 32Gi)")
    add("--pods", type=_count, default=110, metavar="N", help="pods each node takes (default 110)")
    add("--no-scheduler", action="store_true", help="leave out the stock kube-scheduler")
    add("--feature", action="append", default=[], metavar="NAME", help="feature gate to switch on; repeatable")
    add("--api", action="append", default=[], metavar="GROUP/VERSION", help="API version to serve; repeatable")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def _options(arguments: argparse.Namespace) -> Options:
    return Options(
        scheduler=not arguments.no_scheduler,
        feature_gates=dict.fromkeys(arguments.feature, True),
        runtime_config=dict.fromkeys(arguments.api, True),
    )


def _create_nodes(plane: ControlPlane, arguments: argparse.Namespace) -> None:
    spot: int | None = arguments.spot

    def labels(number: int) -> dict[str, str]:
        if spot is None:
            return {}
        return {"node.kubernetes.io/capacity": "spot" if number < spot else "on-demand"}

    plane.create_kwok_nodes(
        arguments.nodes, cpu=arguments.cpu, memory=arguments.memory, pods=arguments.pods, labels=labels
    )


def _announce(plane: ControlPlane, arguments: argparse.Namespace, seconds: float) -> None:
    scheduler = "no scheduler" if arguments.no_scheduler else "stock kube-scheduler"
    version = os.environ.get(VARIABLE) or versions()["kubernetes"]
    print(
        f"control plane: Kubernetes {version} with {arguments.nodes} nodes and {scheduler}, "
        f"up in {seconds:.1f} s\n\n"
        f"  export KUBECONFIG={shlex.quote(str(plane.kubeconfig))}\n\n"
        f"logs: {plane.logs}\n"
        f"stop: Ctrl-C, or kill {os.getpid()}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
