"""What runs in the children of services: the only processes in which an author's code is ever run."""
