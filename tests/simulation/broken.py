"""Verbs that are broken on purpose, each in one place of its statement, and the invariant that this violates.

Where it can be noticed as a violation of one or of another, it has both.
The files stay as they are: the broken text is run instead of the right one on one connection.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bide.sql import statement


@dataclass(frozen=True)
class Broken:
    """Something that could be forgotten in a verb."""

    what: str
    verb: str
    right: str
    wrong: str
    violates: str

    def __str__(self) -> str:
        return f"{self.verb}: {self.what}"

    def instead(self) -> Mapping[str, str]:
        """The right text and the broken one; a verb that has changed so much must be broken anew."""
        text = statement(self.verb).text
        assert self.right in text, f"{self.verb} no longer has {self.right!r}: break it in another place"
        return {text: text.replace(self.right, self.wrong)}


BROKEN = (
    # Fences: something stale is heard.
    Broken("the claim is not asked for", "fire", "w.claim = g.claim", "true", "I4"),
    Broken("the leg is not asked for", "succeed", "g.leg = t.leg", "true", "I4"),
    Broken("the leg is not asked for", "defer", "g.leg = t.leg", "true", "I4"),
    Broken("the epoch is not asked for", "ready", "p.epoch = g.epoch", "true", "I4"),
    Broken("the turn is not asked for", "enqueue", "(select count(*) from turned) = 1", "true", "I7"),
    Broken("the state is not asked for", "start", "t.state = 'queued' and", "", "I5 I10"),
    Broken("the living are rescued", "rescue", "j.state <> 'running'", "true", "I4"),
    Broken("the waits of the living are taken away", "orphan", "j.state <> 'running'", "true", "I4"),
    Broken("the buried are heard", "beat", "and state = 'running'", "", "I4"),
    Broken("an on_kill is not waited for", "enqueue", "k.trigger_id = t.trigger_id", "false", "I7"),
    Broken("a run ends before its tasks", "conclude", "t.dag_run_id = r.id", "false", "I4"),
    # Fences that do not grow.
    Broken("the claim is not counted up", "claim", "claim = w.claim + 1", "claim = w.claim", "I4"),
    Broken("the leg is not counted up", "clear", "leg = t.leg + 1", "leg = t.leg", "I4"),
    Broken("the claim is not counted up", "free_callback", "claim = b.claim + 1", "claim = b.claim", "I4"),
    Broken("the claim is not asked for", "end_callback", "b.claim = g.claim", "true", "I4"),
    # Dates.
    Broken(
        "the date is not asked for", "fire_due", "w.due_at <= (select now from moment)", "w.due_at is not null", "I6"
    ),
    Broken("the date is not asked for", "lapse", "t.trigger_timeout <= (select now", "now() <> (select now", "I6"),
    Broken("the age is not asked for", "sweep", "w.created_date <", "w.created_date + $3::interval <>", "I4"),
    # What is left behind.
    Broken("the wait is not deleted", "fire", "from held h)))", "from held h where false)))", "I1"),
    Broken("the on_kill is not asked for", "clear", "where w.on_kill", "where false", "I1 I5"),
    Broken("the event is forgotten", "fire", "with_event(t.next_kwargs, h.event)", "t.next_kwargs", "I2"),
    Broken("an XCom is forgotten", "succeed", "c.xcom_keys, c.xcom_values", "c.xcom_keys[2:], c.xcom_values[2:]", "I2"),
    Broken("what has ended is not looked at", "succeed", "where c.state in", "where false and c.state in", "I5"),
    Broken("nobody is called", "fail", "ends.kind = any (c.callbacks)", "false", "I2"),
    Broken(
        "the history is forgotten",
        "mark",
        "from changed c cross join moment\n)",
        "from changed c, moment where false)",
        "I10",
    ),
    Broken("somebody else has said it", "start", "$1, c.why", "upper($1), c.why", "I10"),
)
