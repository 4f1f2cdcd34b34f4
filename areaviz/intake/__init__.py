"""Import of users' datasets: files become columns with roles, and columns become a dataset.

`areaviz/intake/files.py` reads a file by its content, `areaviz/intake/roles.py` guesses the role of
each column, and `areaviz/intake/dataset_builder.py` builds a dataset, outputs and scores from the
columns.
"""
