"""A race against every rival: same rows, same threads, one referee."""
