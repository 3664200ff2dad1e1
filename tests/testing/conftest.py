"""Engines of `bide.testing`, on the server of this run."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from bide.testing import Engine
from bide.testing.ground import SERVER_IN_ENVIRONMENT

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _server(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVER_IN_ENVIRONMENT, server_url)


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine at noon."""
    with Engine.fresh(NOON) as made:
        yield made
