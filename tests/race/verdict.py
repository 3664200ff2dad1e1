"""What must hold whatever has met: an independent look at the tables and the history."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

from bide.model.states import TaskState
from bide.model.transitions import VERBS
from tests.race.ring import Picture


def findings(seen: Picture, forsaken: bool = False) -> Iterator[str]:
    """Find what is wrong in a picture; `forsaken` waits are those that a test made without a task."""
    waits = {row["id"] for row in seen["trigger"]}
    waited_for = [row["waits_for"] for row in seen["task_instance"] if row["state"] == "deferred"]
    for wait in waited_for:
        if wait not in waits:
            yield f"a task waits for {wait}, which is not there"
    for wait in waits.difference(waited_for):
        if not forsaken:
            yield f"nothing waits for {wait}"
    told = [row for row in seen["history"] if row["verb"] in VERBS]
    by_task = sorted(told, key=lambda row: row["task_instance_id"])  # stable: each one's story stays in order
    for task, story in groupby(by_task, key=lambda row: row["task_instance_id"]):
        (now,) = (row for row in seen["task_instance"] if row["id"] == task)
        yield from _story_findings(task, list(story), now)
    left = [row for row in told if row["from_state"] != row["to_state"]]
    resumed = Counter((row["task_instance_id"], row["trigger_id"]) for row in left if row["from_state"] == "deferred")
    for (task, wait), times in resumed.items():
        if wait and times > 1:
            yield f"task {task} went on from its wait {wait} {times} times"


def _story_findings(task: int, story: list[dict[str, Any]], now: dict[str, Any]) -> Iterator[str]:
    for row in story:
        if not VERBS[row["verb"]].allows(TaskState(row["from_state"]), TaskState(row["to_state"])):
            yield f"{row['verb']} took task {task} from {row['from_state']} to {row['to_state']}"
    for before, after in pairwise(story):
        if before["to_state"] != after["from_state"]:
            yield f"{after['verb']} left {after['from_state']}, but {before['verb']} had led to {before['to_state']}"
    if (now["state"], now["leg"]) != (story[-1]["to_state"], story[-1]["leg"]):
        yield f"task {task} is {now['state']}, leg {now['leg']}, which its history does not say"
    outcomes = Counter(
        (row["from_state"], row["leg"] - VERBS[row["verb"]].new_leg)
        for row in story
        if row["from_state"] in ("queued", "running", "deferred") and row["from_state"] != row["to_state"]
    )
    for (state, leg), times in outcomes.items():
        if times > 1:
            yield f"leg {leg} of task {task} left {state} {times} times"
