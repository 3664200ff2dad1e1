"""Phrases that sentences about different causes share."""

from bide.control.why.facts import Facts
from bide.model.wording import duration, moment

NO_SCHEDULER = "no scheduler is alive: start `bide up`, or `bide scheduler` alone"
SOON = "at the scheduler's next look"


def of(facts: Facts) -> str:
    """Name the task for a command line."""
    task = facts.task
    index = f" --map-index {task.map_index}" if task.map_index >= 0 else ""
    return f"{task.dag_id} {task.run_id} {task.task_id}{index}"


def soon(facts: Facts) -> str:
    """Say when a scheduler will do its part."""
    return SOON if facts.is_watched else f"when there is a scheduler again, but {NO_SCHEDULER}"


def since(facts: Facts) -> str:
    """Say for how long the task has been in its state."""
    return f" for {duration(facts.since())}" if facts.since() is not None else ""


def said(text: str | None, longest: int = 300) -> str:
    """Repeat what somebody has said, on one line, without what would move a cursor or end the sentence."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text or "").split())
    return line.rstrip(".") if len(line) <= longest else f"{line[: longest - 1]}…"


def at(facts: Facts) -> str:
    """Say when the task came to its state."""
    entry = facts.led_here
    when = facts.task.end_date or (entry.at if entry else None)
    return f" at {moment(when)}" if when else ""
