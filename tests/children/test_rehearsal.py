"""What a warm process does once for all legs leaves nothing behind that a leg could meet."""

import subprocess
import sys
from textwrap import dedent

PROGRAM = """
    import os, signal, sys, threading
    from bide.children import child, code

    def surroundings():
        handlers = [signal.getsignal(number) for number in signal.valid_signals()]
        return child.surroundings(), handlers, sorted(os.listdir("/proc/self/fd")), threading.active_count()

    code.rehearse()
    before, streams = surroundings(), (sys.stdout, sys.stderr)
    code.rehearse()
    assert surroundings() == before
    assert (sys.stdout, sys.stderr) == streams
    print("done")
"""


def test_a_rehearsal_is_not_heard_and_leaves_everything_as_it_was() -> None:
    """The first one may load what is still missing."""
    ended = subprocess.run(
        [sys.executable, "-c", dedent(PROGRAM)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
