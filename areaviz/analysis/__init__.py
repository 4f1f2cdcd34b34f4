"""Analyses of datasets by models: metrics, rows on disk, runs, background jobs and tables.

The entry points are `run.analyse_dataset` (or `on_ray.analyse_on_ray`), which adds rows to a
`rows.RowFile`, and `table.build_table`, which turns rows into a table.
"""
