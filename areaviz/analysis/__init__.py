"""A reader's own set of examples through a model: measures, rows on disk, runs, jobs, tables.

The doors are `run.analyse` (or `on_ray.analyse_on_ray`), which adds rows to a `rows.RowFile`, and
`table.table_of`, which makes a table of them.
"""
