"""The keys that seal and open what is stored: those of the settings, or one that is kept beside the other local data.

Without a key of its own a laptop could store no secret, so the first need of one makes it. Machines that share a
database must share their keys too, and that is what the settings are for.
"""

import os
import secrets
from pathlib import Path

from bide.errors import SealingError
from bide.sealing import Sealer, generate_key
from bide.settings import Settings


def sealer(settings: Settings) -> Sealer:
    """Seal and open with the keys of these settings."""
    return Sealer(keys(settings))


def keys(settings: Settings) -> tuple[str, ...]:
    """Return the keys: those that were set, or the one in the folder, which is made if it is missing."""
    return settings.security.keys or (_kept(place(settings)),)


def place(settings: Settings) -> Path:
    """Say where the key is kept that nobody has set."""
    return settings.core.data_dir / "key"


def _kept(path: Path) -> str:
    try:
        if not path.exists():
            _make(path)
        key = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise SealingError(
            f"The key in {path} cannot be used: {error.strerror}. See who owns it, or set security.keys."
        ) from None
    try:
        Sealer([key])
    except SealingError:
        raise SealingError(
            f"The file {path} holds no key: it was damaged or written by somebody else. Put the old one back, or set "
            "security.keys."
        ) from None
    return key


def _make(path: Path) -> None:
    """Make a key that is there at once or not at all: of several processes that make one, all get the first."""
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(f"{generate_key()}\n")
            file.flush()
            # A key that is lost with the power takes everything along that it has sealed.
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
