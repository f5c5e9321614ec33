"""One search carried out: settings, limits, progress, checkpoint, and the record of its result."""
