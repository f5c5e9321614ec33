"""Rows and where they come from."""
