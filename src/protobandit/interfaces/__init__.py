"""How people use the library besides `select`: estimators, the command line, and its jobs."""
