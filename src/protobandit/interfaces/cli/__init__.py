"""The command line: parse options, call a job, print. Results go to stdout, all else to stderr."""
