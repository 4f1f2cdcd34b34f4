"""Reading what people bring: files become columns with roles, and columns become a data set.

`areaviz/intake/files.py` reads one file by its content, `areaviz/intake/roles.py` guesses what each
column is, and `areaviz/intake/brought.py` makes a set, outputs and scores of the columns.
"""
