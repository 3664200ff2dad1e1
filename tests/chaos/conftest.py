"""The server of the system tests, which knows the DAGs already."""

from tests.system.conftest import knowing_server

__all__ = ["knowing_server"]
