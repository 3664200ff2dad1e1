"""The only importer of the driver: one typed function for each named SQL statement."""
