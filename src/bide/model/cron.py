"""When a cron expression comes round, over daylight saving too.

As in Debian's cron there are two kinds. An expression with a `*` at the beginning of its minutes or hours counts time
as it passes: it comes at every moment at which the clock on the wall reads so, twice where the clock is put back, and
not at all where it is put forward over that reading. Any other speaks of a date on the wall: it comes once for each
date, at the first of two equal ones, and where a date is left out, right after the gap.

The library knows which readings of a clock match; how they become moments is decided here.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

from bide.errors import PlanError

_FIELDS = 5
_MINUTE = timedelta(minutes=1)
_LONGEST = 200
_SOME_DATE = datetime(2000, 1, 1)


class Cron:
    """A rhythm of moments in UTC. Where it never comes again, or beyond the calendar, it raises OverflowError."""

    def __init__(self, expression: str, zone: tzinfo) -> None:
        fields = expression.split()
        if len(fields) != _FIELDS or len(expression) > _LONGEST:
            raise _unreadable(expression, f"it has {len(fields)} fields")
        try:
            CronSim(expression, _SOME_DATE)
        except (CronSimError, AssertionError, ValueError) as error:
            raise _unreadable(expression, (str(error) or "it cannot be read").lower()) from None
        self.expression = expression
        self._zone = zone
        self._counts_time = fields[0].startswith("*") or fields[1].startswith("*")

    def after(self, moment: datetime) -> datetime:
        """Return the first time after a moment."""
        here = moment.astimezone(self._zone).replace(tzinfo=None)
        found = None
        # Where the clock is about to be put back, earlier readings come once more.
        for reading in CronSim(self.expression, here - self._put_back(moment)):
            later = [time for time in self._times(reading) if time > moment]
            found = min([*later, found] if found else later, default=None)
            if found and reading > here:
                return found
        raise OverflowError("it never comes again")

    def before(self, moment: datetime) -> datetime:
        """Return the last time before a moment."""
        here = moment.astimezone(self._zone).replace(tzinfo=None)
        found = None
        for reading in CronSim(self.expression, here + self._put_back(moment), reverse=True):
            earlier = [time for time in self._times(reading) if time < moment]
            found = max([*earlier, found] if found else earlier, default=None)
            if found and reading < here:
                return found
        raise OverflowError("it has never come")

    def explain(self) -> str:
        """Say it in English."""
        return CronSim(self.expression, _SOME_DATE).explain()

    def _times(self, reading: datetime) -> list[datetime]:
        """Return the moments that a reading of the clock stands for."""
        first, second = self._moment(reading), self._moment(reading.replace(fold=1))
        if self._reads(first) == reading:
            return [first, second] if self._counts_time and second > first else [first]
        if self._counts_time:
            return []
        return [self._moment(next(time for time in _minutes_from(reading) if self._reads(self._moment(time)) == time))]

    def _put_back(self, moment: datetime) -> timedelta:
        """Return by how much the clock is put back around a moment whose reading comes twice."""
        local = moment.astimezone(self._zone)
        other = local.replace(fold=1 - local.fold)
        return abs((local.utcoffset() or timedelta()) - (other.utcoffset() or timedelta()))

    def _moment(self, reading: datetime) -> datetime:
        return reading.replace(tzinfo=self._zone).astimezone(UTC)

    def _reads(self, moment: datetime) -> datetime:
        return moment.astimezone(self._zone).replace(tzinfo=None, fold=0)


class Several:
    """Several rhythms in one: it comes when any of them does."""

    def __init__(self, rhythms: Sequence[Cron]) -> None:
        self._rhythms = rhythms

    def after(self, moment: datetime) -> datetime:
        """Return the first time after a moment."""
        return min(self._found(lambda cron: cron.after(moment)))

    def before(self, moment: datetime) -> datetime:
        """Return the last time before a moment."""
        return max(self._found(lambda cron: cron.before(moment)))

    def _found(self, look: Callable[[Cron], datetime]) -> list[datetime]:
        found = []
        for cron in self._rhythms:
            with suppress(OverflowError):
                found.append(look(cron))
        if not found:
            raise OverflowError("none of them comes")
        return found


def _minutes_from(reading: datetime) -> Iterator[datetime]:
    while True:
        yield reading
        reading += _MINUTE


def _unreadable(expression: str, why: str) -> PlanError:
    shown = expression if len(expression) <= _LONGEST else f"{expression[:_LONGEST]}…"
    return PlanError(
        f"The cron expression {shown!r} cannot be used: {why}. Write {_FIELDS} fields: minute, hour, day of the month, "
        "month, day of the week; '0 6 * * MON-FRI', for instance."
    )
