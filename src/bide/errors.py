"""The errors a person can meet. Each docstring says in short what went wrong; the text says what to do."""


class BideError(Exception):
    """Something a person can understand and mend; shown without a traceback."""


class SettingsError(BideError):
    """A setting cannot be used as it was given."""


class PlanError(BideError, ValueError):
    """This DAG cannot run as it is written."""


class CircleError(PlanError):
    """Tasks wait for one another in a circle."""

    def __init__(self, text: str, circle: tuple[str, ...]) -> None:
        super().__init__(text)
        self.circle = circle


class OutcomeError(BideError, ValueError):
    """A task ended in a way that makes no sense."""


class DatabaseUnavailable(BideError):
    """PostgreSQL could not be reached, or did not answer in time."""


class EmbeddedServerError(BideError):
    """The PostgreSQL server that Bide brings along cannot be used."""


class MigrationError(BideError):
    """The database cannot be brought to the shape this program needs."""


class CodecError(BideError, ValueError):
    """A value cannot be stored, or a stored value cannot be read."""


class SealingError(BideError):
    """What was stored encrypted is not given out."""


class UnknownKey(SealingError):
    """No key at hand opens it. It may be opened when the right key is back: what needs it is parked."""


class SealedElsewhere(SealingError):
    """It was sealed for another place, so somebody has moved it. It never opens here: this is audited."""


class Unknown(BideError):
    """There is nothing of that name."""


class Refusal(BideError):
    """It was understood, and cannot be done as things are."""
