"""Sensors that come along: one module for each kind, named as Airflow names them."""
