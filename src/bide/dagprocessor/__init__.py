"""The service that turns DAG files into plans in the database. It never imports one: children do.

`finding` says which files there are, `watching` when to look, `book` what is known of each and which is to be parsed
next, `parsers` has that done by children, `storing` writes what was found, and `service` puts them together.
"""
