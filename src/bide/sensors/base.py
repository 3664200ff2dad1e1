"""What sensors derive from."""

from bide.authoring import BaseSensorOperator, PokeReturnValue

__all__ = ["BaseSensorOperator", "PokeReturnValue"]
