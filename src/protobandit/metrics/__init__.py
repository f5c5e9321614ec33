"""Metrics: the table of names, user metrics, text metrics and similarities."""
