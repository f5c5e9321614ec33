"""Local search over cells: moves of single prototypes, judged on the rows near them."""
