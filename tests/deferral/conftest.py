"""Engines of `bide.testing`, on the server of this run."""

from tests.testing.conftest import _server, engine

__all__ = ["_server", "engine"]
