"""Strategies: which arms to pull, and when to stop."""
