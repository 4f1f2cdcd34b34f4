"""Pages with a live model: one HTML file that runs a model in the reader's browser.

`build.py` writes the page. The scripts in this folder are the engine that runs the model.
"""
