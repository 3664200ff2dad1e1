"""What templates have for dates and the like, as in `{{ macros.ds_add(ds, 7) }}`."""

import json
import time
import uuid
from datetime import datetime, timedelta
from random import random

from pendulum import instance

__all__ = [
    "datetime",
    "datetime_diff_for_humans",
    "ds_add",
    "ds_format",
    "json",
    "random",
    "time",
    "timedelta",
    "uuid",
]


def ds_add(ds: str, days: int) -> str:
    """Add days to a date such as 2026-01-31; a negative number takes them off."""
    return (datetime.strptime(ds, "%Y-%m-%d") + timedelta(days=days)).strftime("%Y-%m-%d")


def ds_format(ds: str, input_format: str, output_format: str) -> str:
    """Write a date in another format."""
    return datetime.strptime(ds, input_format).strftime(output_format)


def datetime_diff_for_humans(dt: datetime, since: datetime | None = None) -> str:
    """Tell in words how far a date is from now, or from another date."""
    return instance(dt).diff_for_humans(None if since is None else instance(since))
