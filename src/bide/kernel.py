"""What the kernel does for processes and their children, where it is Linux. Elsewhere these do nothing.

Python has no words for most of it, so they are called in the C library.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

LINUX = sys.platform == "linux"

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

# With each of these a process may look into the memory of others, or into the kernel's, which is the same.
CAN_READ_OTHERS = {
    "sys_module": 16,
    "sys_rawio": 17,
    "sys_ptrace": 19,
    "sys_admin": 21,
    "sys_boot": 22,
    "perfmon": 38,
    "bpf": 39,
    "checkpoint_restore": 40,
}
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def die_with_parent(number: int) -> None:
    """Be sent a signal when the parent has died; 0 takes it back. Looks at the thread that forked."""
    _prctl(PR_SET_PDEATHSIG, number)


def hide_memory() -> None:
    """Let no other process of the same user read this one's memory, environment or descriptors, nor dump its core."""
    _prctl(PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parents have ended, so that they can be found."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def drop_capabilities() -> None:
    """Give up, for good and for all programs that are started from here, what lets root read other processes."""
    if not LINUX:
        return
    # What root may do after exec is limited by the bounding set; to an ordinary user that set gives nothing.
    if os.geteuid() == 0:
        for number in CAN_READ_OTHERS.values():
            # A kernel that does not know a capability refuses to say whether it is there.
            if _libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1:
                _prctl(PR_CAPBSET_DROP, number)
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _keep_only(~sum(1 << number for number in CAN_READ_OTHERS.values()))


def main_thread(pid: int) -> tuple[str, float] | None:
    """Tell the state of a process's main thread (R runs or would like to, S sleeps) and its processor time so far."""
    with suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/task/{pid}/stat", encoding="ascii", errors="replace") as file:
            # The name of the program stands in brackets and may hold anything.
            fields = file.read().rpartition(")")[2].split()
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


def kill_group(pid: int) -> None:
    """End a child and its whole process group."""
    # It may not have made its group yet.
    send_signal(pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def send_signal(pid: int, number: int) -> None:
    """Send a signal to somebody who may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _keep_only(mask: int) -> None:
    header, sets = _Header(_CAPABILITY_VERSION, 0), (_Capabilities * 2)()
    _checked(_libc.capget(ctypes.byref(header), sets))
    for half, part in enumerate(sets):
        kept = mask >> (32 * half) & 0xFFFFFFFF
        part.effective &= kept
        part.permitted &= kept
        part.inheritable &= kept
    _checked(_libc.capset(ctypes.byref(header), sets))


def _prctl(option: int, value: int) -> None:
    if LINUX:
        _checked(_libc.prctl(option, value, 0, 0, 0))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
