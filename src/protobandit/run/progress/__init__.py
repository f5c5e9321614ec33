"""Progress of a run, and requests to stop it."""
