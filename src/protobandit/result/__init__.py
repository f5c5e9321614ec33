"""The result: Selection, its queries, JSON, plots and report."""
