"""Faults, load and hostile input: each module does one kind to the app and returns its figures.

`make test` runs them short; `python -m tests.faults.soak` runs them at full length and writes
docs/reliability.md.
"""
