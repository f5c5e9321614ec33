"""Preparation of rows: requested by the user, fitted on the target, repeated for other rows."""
