"""Legs that are run for nobody, in the process that children will be forked from.

What runs for the first time is slow: Python adapts its code to what it meets, and much is made only when it is wanted.
All of that is memory that changes, and what changes in a child is copied for it. So it is better done before.
"""

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bide.children import child
from bide.children.channel import READ, Channel
from bide.children.port import SocketPort
from bide.model.framing import framed
from bide.model.messages import RunLeg, ToChild


def rehearse_legs(order: RunLeg, dags: Mapping[str, Any], run_leg: child.RunLegFunction, times: int) -> None:
    """Run a leg some times, as a child does."""
    ours, theirs = socket.socketpair()
    with ours, theirs, unheard():
        port = SocketPort(Channel(theirs, ToChild))
        for _ in range(times):
            ours.sendall(framed(order))
            given = port.next_leg()
            assert given is not None
            child.serve(given, dags, run_leg, port, None)
            ours.recv(READ)


@contextmanager
def unheard() -> Iterator[None]:
    """Let nobody hear what is written meanwhile."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        output, errors = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = nowhere
        try:
            yield
        finally:
            sys.stdout, sys.stderr = output, errors
