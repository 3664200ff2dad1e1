"""What the tasks of these DAG files have in common: they write down what they do, and are tried again."""

import os
from datetime import timedelta
from pathlib import Path

from bide import Context, get_current_context


def note(word: str, context: Context | None = None) -> Path:
    """Write a line about this task into the folder of its run; lines of one write each are never mixed."""
    context = context or get_current_context()
    ti, folder = context["ti"], Path(context["dag_run"].conf["folder"])
    line = "\t".join(map(str, (word, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.try_number, os.getpid())))
    with (folder / "notes").open("a") as notes:
        notes.write(f"{line}\n")
    return folder


def called(context: Context) -> None:
    """Note a callback."""
    note("called", context)


# Whoever is killed is tried again: what these runs end with says nothing about luck.
AGAIN = {
    "retries": 50,
    "retry_delay": timedelta(seconds=0.1),
    "on_retry_callback": called,
    "on_failure_callback": called,
}
