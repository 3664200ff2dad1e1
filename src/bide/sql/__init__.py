"""Every SQL statement of the engine."""
