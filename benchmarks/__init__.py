"""Every verb measured beside its floor: `python -m benchmarks`."""
