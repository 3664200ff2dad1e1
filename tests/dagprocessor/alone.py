"""A DAG processor in a process of its own: `python -m tests.dagprocessor.alone FOLDER`."""

import os
import sys
from pathlib import Path

from bide.dagprocessor.service import DagProcessor
from bide.process.program import run
from bide.settings import Settings
from bide.settings.declared import Core

if __name__ == "__main__":
    run(
        Settings(core=Core(dags_dir=Path(sys.argv[1]), data_dir=Path(sys.argv[1]).parent)),
        os.environ["BIDE_DATABASE_URL"],
        [],
        lambda place: [DagProcessor(place, "tests.dagprocessor.loader")],
    )
