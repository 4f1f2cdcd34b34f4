"""Notes of people on examples, and slices of sets, in SQLite or PostgreSQL, and as files.

The doors are `annotations.Annotations` and `slices.Slices`, both over one `store.Store`.
"""
