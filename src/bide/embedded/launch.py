"""The last steps before PostgreSQL: a script that gives up root, ties its life to its owner's and becomes the program.

It runs as `launch.py OWNER UID GID DATA PROGRAM ARGUMENT…` in a fresh interpreter, because none of this may be done
between fork and exec of a process that may have threads. It imports nothing of Bide and prints a line beginning with
FATAL, as PostgreSQL does, when it cannot go on.

PostgreSQL refuses to run as root. The user it runs as instead often cannot reach a folder of root's (such as /root or
a private temporary folder). Only then it keeps one capability, which lets it pass; no folder's mode is changed.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522

LINUX = sys.platform == "linux"


def main(owner: int, uid: int, gid: int, data: str, program: str, *arguments: str) -> None:
    """Become the program, or say why not."""
    if os.geteuid() == 0:
        become(uid, gid)
        if LINUX and not (os.access(program, os.X_OK) and os.access(data, os.W_OK | os.X_OK)):
            keep_passing_closed_folders()
    if LINUX:
        # The kernel forgets this whenever the user changes, so it comes last. SIGINT is PostgreSQL's fast shutdown.
        system_call("prctl", PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() != owner:
        sys.exit("FATAL:  the process that wanted this server is gone")
    os.execv(program, [program, "-D", data, *arguments])


def become(uid: int, gid: int) -> None:
    """Give up root for good; what it was allowed is kept aside until the program begins."""
    if LINUX:
        system_call("prctl", PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def keep_passing_closed_folders() -> None:
    """Take the right to pass closed folders, and no other, along into the program."""
    only = 1 << CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    effective_permitted_inheritable = (ctypes.c_uint32 * 6)(only, only, only)
    system_call("capset", header, effective_permitted_inheritable)
    system_call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0)


def system_call(name: str, *arguments: object) -> None:
    """Call a function of the C library that reports failure by a negative number."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    owner, uid, gid, data, *command = sys.argv[1:]
    try:
        main(int(owner), int(uid), int(gid), data, *command)
    except OSError as error:
        sys.exit(f"FATAL:  the server's user could not be set up: {error}")
