"""The `bide` command."""
