"""The large-scale comparison: up to 1,000,000 rows and 10,000 prototypes."""
