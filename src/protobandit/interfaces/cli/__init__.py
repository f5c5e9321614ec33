"""The command line: parse, call, write; no logic. Results go to stdout, all else to stderr."""
