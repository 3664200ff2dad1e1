"""A runner: a process that runs thousands of triggers on one event loop.

    python -m bide.children.runner SOCKET PAGE STACKS MODULE

It speaks with its triggerer over the socket. PAGE is the memory in which it says whose step it is and that its event
loop comes round; STACKS is where the kernel's signal makes it write what it is doing, whatever that is. When the socket
closes it lets its triggers clean up, and leaves.
"""

import asyncio
import faulthandler
import gc
import logging
import mmap
import os
import resource
import signal
import socket
import sys
from importlib import import_module
from typing import Any

import uvloop

from bide import kernel
from bide.children.steps import Page, after_fork
from bide.children.trigger_log import Printed, ToTriggerLog
from bide.children.triggers import Triggers
from bide.children.warm import prepare_output
from bide.model.trigger_messages import WORDS_SIZE

log = logging.getLogger("bide.runner")


async def serve(descriptor: int, code: Any) -> None:
    """Run triggers until the triggerer wants no more."""
    triggers = Triggers(socket.socket(fileno=descriptor), code)
    root = logging.getLogger()
    root.handlers = [ToTriggerLog(triggers.log)]
    root.setLevel(logging.INFO)
    sys.stdout, sys.stderr = Printed(triggers.log), Printed(triggers.log)
    await triggers.left.wait()


def main(descriptor: int, page: int, stacks: int, module: str) -> None:
    """Be a runner from its start to its end."""
    kernel.die_with_parent(signal.SIGKILL)
    kernel.drop_capabilities()
    prepare_output()
    # Thousands of triggers may have a connection each.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False, chain=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Who ends a whole group means the triggerer, which then closes the socket.
        signal.signal(number, signal.SIG_IGN)
    Page.words = memoryview(mmap.mmap(page, WORDS_SIZE)).cast("q")
    os.register_at_fork(after_in_child=after_fork)
    code = import_module(module)
    gc.collect()
    gc.freeze()
    # Only the young are looked through as they come: with a hundred thousand triggers a full round takes a second.
    gc.set_threshold(50_000, 20, 1_000_000)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(descriptor, code))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
    os._exit(0)
