"""A trace shown to others: as a file, in a notebook, or as a page served once to a browser.

`areaviz.export` (`export.py`) writes a trace as what the ending of the file says; `areaviz.show`
(`show.py`) gives a notebook the same page. `page.py` puts the page together.
"""
