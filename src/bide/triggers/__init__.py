"""Triggers that come along: one module for each kind. Sensors defer to them; tasks of your own may too."""
