"""The named methods: combinations of strategy, objective and driver, with their parameters."""
