"""The errors a person can meet. Each docstring is the message's first half: what went wrong; the text says what to do."""


class BideError(Exception):
    """Something a person can understand and mend; shown without a traceback."""
