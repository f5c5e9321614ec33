"""The search: arms choose, objectives value, drivers repeat, methods combine."""
