"""Publication of a trace: as a file, in a notebook, or as a page for a browser on this machine.

`areaviz.export` (`export.py`) writes a trace in the format of the file extension. `areaviz.show`
(`show.py`) shows the interactive page in a notebook. `page.py` builds the page.
"""
