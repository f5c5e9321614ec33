"""The scikit-learn estimators around `select`.

Rules
-----
1. ``__init__`` stores; ``fit`` validates and hands over to `select`; nothing is decided here.
2. Tables of numbers pass scikit-learn's own validation. Rows that only a caller's metric
   understands (strings, sequences of any length) pass as a list and have no features to name.
3. Fitted attributes speak of the rows of ``X`` as they were passed, whatever was searched.
"""
