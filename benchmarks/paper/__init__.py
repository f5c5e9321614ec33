"""The paper's experiments: every figure, both rules of counting, and alternatives."""
