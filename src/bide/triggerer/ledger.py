"""What the database says that this triggerer holds, as far as it was told: by parts, so that few are compared."""

from collections.abc import Collection, Iterator, Mapping

from bide.store.holding import Claim
from bide.store.views import PART, PartOfWaits


class Ledger:
    """The claims of a triggerer."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[int, int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def __contains__(self, claim: Claim) -> bool:
        return self._parts.get(claim.id // PART, {}).get(claim.id) == claim.claim

    def add(self, claim: Claim) -> None:
        """It was claimed."""
        self._parts.setdefault(claim.id // PART, {})[claim.id] = claim.claim

    def remove(self, claim: Claim) -> None:
        """It is gone, or somebody else's. One that was claimed again since stays."""
        if claim in self:
            part = self._parts[claim.id // PART]
            del part[claim.id]
            if not part:
                del self._parts[claim.id // PART]

    def clear(self) -> None:
        """Hold nothing."""
        self._parts.clear()

    def differing(self, told: Collection[PartOfWaits]) -> list[int]:
        """List the parts of which the database says something else."""
        theirs = {part.part: (part.number, part.claims) for part in told}
        mine = {number: (len(part), sum(part.values())) for number, part in self._parts.items()}
        return [number for number in theirs.keys() | mine.keys() if theirs.get(number) != mine.get(number)]

    def in_parts(self, numbers: Collection[int]) -> Iterator[Claim]:
        """Go through the claims of some parts."""
        nothing: Mapping[int, int] = {}
        for number in numbers:
            for id, claim in self._parts.get(number, nothing).items():
                yield Claim(id, claim)
