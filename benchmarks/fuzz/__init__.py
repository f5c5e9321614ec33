"""Random calls of the library, ordinary and hostile, with a judge that knows the right answer."""
