"""The scikit-learn estimators around `select`.

Rules
-----
1. ``__init__`` stores its parameters; ``fit`` validates and calls `select`. No decisions here.
2. Tables of numbers are validated by scikit-learn. Rows that only a user's metric understands
   (strings, sequences of any length) are passed as a list and have no feature names.
3. Fitted attributes refer to the rows of ``X`` as passed, even if fewer rows were searched.
"""
