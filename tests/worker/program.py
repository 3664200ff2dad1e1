"""A worker in a process of its own, with its settings from the environment: `python -m tests.worker.program`."""

import os

from bide.process import program
from bide.settings import load
from bide.store.wake import Channel
from bide.worker.service import Worker
from tests.worker.stage import CODE


def main() -> None:
    """Be a worker until told to stop."""
    settings = load()
    program.run(settings, settings.database.url, [Channel.WORKER], lambda place: [Worker(place, os.environ, CODE)])


if __name__ == "__main__":
    main()
