"""The log of a task, as it was written; what is told about it goes where errors go."""

import asyncio
import sys

from bide.cli import output, words
from bide.errors import Refusal
from bide.model.states import TERMINAL
from bide.store import records, reports
from bide.store.database import Database
from bide.store.reports import TaskFacts

LOOK_EVERY_SEC = 0.5


async def print_log(db: Database, task: TaskFacts, try_number: int | None, follow: bool) -> None:
    """Print the log of a try; of the latest one if none is named."""
    there = await reports.tries_of(db, task.id)
    if try_number is None:
        try_number = there[-1] if there and not follow else max(1, task.try_number)
    if follow:
        await print_as_it_comes(db, task, try_number)
    elif try_number in there:
        await print_after(db, task.id, try_number, 0)
    elif task.try_number < try_number:
        raise Refusal(f"{task.task_id!r} is {task.state} and has not begun its try {try_number}; -f waits for it.")
    else:
        others = f"; there are logs of {', '.join(map(str, there))}" if there else ""
        output.note(f"Try {try_number} of {task.task_id!r} has written nothing{others}.")


async def print_as_it_comes(db: Database, task: TaskFacts, try_number: int) -> None:
    """Print one try after the other until the task ends."""
    last, is_quiet = 0, False
    while True:
        before, last = last, await print_after(db, task.id, try_number, last)
        is_over = task.state in TERMINAL
        if last == before and task.try_number > try_number:
            try_number, last = try_number + 1, 0
            output.note(f"Try {try_number}:")
            continue
        # The last of a log may come a moment after the end of its task.
        if is_over and is_quiet and last == before:
            output.note(f"{task.task_id} ended as {task.state} {words.moment(task.end_date)}.")
            return
        is_quiet = is_over
        await asyncio.sleep(LOOK_EVERY_SEC)
        found = await reports.describe_task(db, task.dag_id, task.run_id, task.task_id, task.map_index)
        if found is None:
            raise Refusal(f"{task.task_id!r} has just been taken away.")
        task = found


async def print_after(db: Database, task_instance_id: int, try_number: int, last: int) -> int:
    """Print what has been written since; tell how far that was."""
    while chunks := await records.read_log(db, task_instance_id, try_number, last):
        for chunk in chunks:
            sys.stdout.write(chunk.text)
        sys.stdout.flush()
        last = chunks[-1].number
    return last
