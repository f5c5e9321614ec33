"""The race: all source rows on a few target rows, then fewer source rows on more target rows."""
