"""Users' notes on examples, slices of datasets and judgements, in SQLite or PostgreSQL and files.

The entry points are `annotations.Annotations`, `slices.Slices` and `judgements.Judgements`, which
share one `store.Store`.
"""
