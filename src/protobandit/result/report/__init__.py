"""The report of a selection: figures and a page. Reads results, never runs a search."""
