"""The trace, what one run of a model attended to: record, questions to it, files and links of it.

Begin with `record.py`; `areaviz.from_arrays` makes a trace of weights. Needs NumPy alone.
"""
