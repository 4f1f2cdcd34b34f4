"""Users' notes on examples, slices of datasets and ratings, stored in SQLite or PostgreSQL.

The entry points are `notes.Annotations`, `notes.Slices` and `notes.Judgements`, which share one
`store.Store`.
"""
