"""How a setting is described: its purpose, its limits, and whether it is secret."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class About:
    """What a setting's type cannot say: its purpose, its limits, and how it is shown."""

    doc: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ".*"
    pattern_in_words: str = ""
    secret: bool = False
    default_in_words: str = ""


def about(doc: str) -> About:
    """Describe a setting that every value of its type suits."""
    return About(doc=doc)


def limited(doc: str, least: float, most: float, default_in_words: str = "") -> About:
    """Describe a number with the limits it must keep."""
    return About(doc=doc, least=least, most=most, default_in_words=default_in_words)


def seconds_between_heartbeats(service: str) -> About:
    """Describe a heartbeat: the same rule and the same limits for every service."""
    return limited(f"Seconds between heartbeats of a {service}; after 2.1 times this it counts as dead.", 0.1, 300)
