"""Tests of faults, load and hostile input.

Each module exposes the app to one kind of fault and returns figures. `make test` runs short
versions; `python -m tests.faults.soak` runs them at full length and writes docs/reliability.md.
"""
