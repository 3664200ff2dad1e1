"""A triggerer in a process of its own, with its settings from the environment: `python -m tests.triggerer.program`."""

from bide.process import program
from bide.settings import load
from bide.store.wake import Channel
from bide.triggerer.service import Triggerer


def main() -> None:
    """Be a triggerer until told to stop."""
    settings = load()
    program.run(settings, settings.database.url, [Channel.TRIGGERER], lambda place: [Triggerer(place)])


if __name__ == "__main__":
    main()
