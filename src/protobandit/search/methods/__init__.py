"""The methods: named combinations of a strategy, an objective and a driver."""
