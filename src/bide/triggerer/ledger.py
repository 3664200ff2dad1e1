"""What the database says that this triggerer holds, as far as it was told: by parts, so that few are compared."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from bide.store.holding import Claim
from bide.store.views import PART, PartOfWaits, check_of


class Ledger:
    """The claims of a triggerer."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[int, int]] = {}
        self._checks: Counter[int] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def __contains__(self, claim: Claim) -> bool:
        return self._parts.get(claim.id // PART, {}).get(claim.id) == claim.claim

    def add(self, *claims: Claim) -> None:
        """They were claimed."""
        for claim in claims:
            number = claim.id // PART
            part = self._parts.setdefault(number, {})
            if claim.id in part:
                self._checks[number] -= check_of(Claim(claim.id, part[claim.id]))
            part[claim.id] = claim.claim
            self._checks[number] += check_of(claim)

    def remove(self, *claims: Claim) -> None:
        """They are gone, or somebody else's. One that was claimed again since stays."""
        for claim in claims:
            if claim in self:
                number = claim.id // PART
                del self._parts[number][claim.id]
                self._checks[number] -= check_of(claim)
                if not self._parts[number]:
                    del self._parts[number], self._checks[number]

    def clear(self) -> None:
        """Hold nothing."""
        self._parts.clear()
        self._checks.clear()

    def differing(self, told: Collection[PartOfWaits]) -> list[int]:
        """List the parts of which the database says something else."""
        theirs = {part.part: (part.number, part.checks) for part in told}
        mine = {number: (len(part), self._checks[number]) for number, part in self._parts.items()}
        return [number for number in theirs.keys() | mine.keys() if theirs.get(number) != mine.get(number)]

    def in_parts(self, numbers: Collection[int]) -> Iterator[Claim]:
        """Go through the claims of some parts."""
        nothing: Mapping[int, int] = {}
        for number in numbers:
            for id, claim in self._parts.get(number, nothing).items():
                yield Claim(id, claim)
