"""What several benchmarks share: data, costs, counting, sessions, tables, pages and figures."""
