"""What is an arm worth? How much better the target is represented with one more source row."""
