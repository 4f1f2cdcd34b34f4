"""Users' notes on examples, slices of datasets and ratings, stored in SQLite or PostgreSQL.

The entry points are `annotations.Annotations`, `slices.Slices` and `judgements.Judgements`, which
share one `store.Store`.
"""
