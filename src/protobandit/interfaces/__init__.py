"""Ways to use the library other than `select`: estimators, the command line and its jobs."""
