"""What operators that choose between branches derive from."""

from bide.authoring import BaseBranchOperator

__all__ = ["BaseBranchOperator"]
