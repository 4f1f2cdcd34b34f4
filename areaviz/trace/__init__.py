"""The trace, which records what one run of a model attended to.

This folder holds the record, the queries on it, its files and its links. Start with `record.py`.
`areaviz.from_arrays` makes a trace from attention weights. This needs only NumPy.
"""
