"""What is done to rows before a metric reads them: requested, fitted on the target, repeated."""
