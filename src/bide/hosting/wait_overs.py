"""From what triggers have said to the verbs about their waits."""

from collections.abc import Sequence

from msgspec import Struct

from bide.model.wait_over import FAILED_FOR_GOOD, TRIGGER_FAILED, Crashes, Ends, Fires, WaitOver
from bide.store import deferral
from bide.store.database import Database
from bide.store.deferral import Crashed, Ended, Fired, as_error
from bide.store.holding import Claim
from bide.store.rows import Changed, XCom


class Over(Struct, frozen=True):
    """A wait as it was claimed, and how its trigger has ended it."""

    claim: Claim
    how: WaitOver


async def say(db: Database, who: str, overs: Sequence[Over]) -> list[Changed]:
    """Say how waits ended, each kind in one statement, and return the tasks that go on or have ended."""
    fired = [Fired(over.claim.id, over.claim.claim, over.how.event) for over in overs if isinstance(over.how, Fires)]
    ended = [_ended(over.claim, over.how) for over in overs if isinstance(over.how, Ends)]
    xcoms = [xcom for over in overs if isinstance(over.how, Ends) for xcom in _xcoms(over.claim, over.how)]
    crashed = [_crashed(over.claim, over.how) for over in overs if isinstance(over.how, Crashes)]
    changed = await deferral.fire(db, who, fired) if fired else []
    changed += await deferral.end(db, who, ended, xcoms) if ended else []
    changed += await deferral.crash(db, who, crashed) if crashed else []
    return changed


def _ended(claim: Claim, how: Ends) -> Ended:
    if how.state == "failed":
        error = as_error(how.reason or "its trigger says that it has failed")
        return Ended(claim.id, claim.claim, "scheduled", error, how.reason or None)
    return Ended(claim.id, claim.claim, how.state, None, how.reason or None)


def _xcoms(claim: Claim, how: Ends) -> list[XCom]:
    return [XCom(claim.id, claim.claim, key, value) for key, value in how.xcoms.items()]


def _crashed(claim: Claim, how: Crashes) -> Crashed:
    reason = TRIGGER_FAILED if how.retryable else FAILED_FOR_GOOD
    return Crashed(claim.id, claim.claim, as_error(how.error, how.traceback, reason), how.error)
