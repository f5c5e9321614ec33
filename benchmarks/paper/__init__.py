"""The paper's experiments, anew: every figure, both ways of counting, and rivals beside them."""
