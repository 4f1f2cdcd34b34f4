"""The app's own samples, generators of examples, and the locations of all files.

`dataset.py` defines a user's dataset and its examples. `paths.py` locates files and models. The
other files make samples, one subject per file.
"""
