"""Ctrl-C for programs that tests start."""

import signal


def heard() -> None:
    """To be called in the child before its program begins: what a shell starts in the background ignores SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
