"""Starting a child: a fresh Python with a socket to this process and none of its secrets."""

import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence

from bide.settings.declared import Operators, settings_in

# What the engine's own settings and PostgreSQL's clients are given in the environment.
WITHHELD_BEGINNINGS = ("BIDE_", "PG")
WITHHELD_WORD = "DATABASE_URL"
DEFAULT_CODE = "bide.children.code"
"""The module that knows, in children, how a file is loaded and a leg is run. Its name is all that a service knows."""


def environment(
    environ: Mapping[str, str], secrets: Iterable[str] = (), operators: Operators | None = None
) -> dict[str, str]:
    """Return what children may see of the environment: no database, and no value that holds a secret.

    Of the settings they see those for operators, which an author's code may ask for: `bide.conf`.
    """
    hidden = [secret for secret in secrets if secret]
    known = {} if operators is None else settings_in(Operators)
    told = {setting.variable: str(getattr(operators, key)).lower() for key, setting in known.items()}
    return told | {
        name: value
        for name, value in environ.items()
        if not name.upper().startswith(WITHHELD_BEGINNINGS)
        and WITHHELD_WORD not in name.upper()
        and not any(secret in value for secret in hidden)
    }


def spawn(
    module: str, arguments: Iterable[str], environ: Mapping[str, str], output: int, inherited: Sequence[int] = ()
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Run a module in a new Python that inherits nothing but one end of a socket, and these; return the other end.

    Call it from the main thread: a child asks the kernel to tell it of the end of the thread that started it.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(
                # Without -P the working directory would come before the standard library.
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), *arguments],
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno(), *inherited],
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return process, ours
