"""The layer between the command line and the library: open files, select, write results."""
