"""A trace as a page: in a file, in a notebook, as a widget, or for this machine's browser.

`page.py` has `export`, which writes a trace to a file, and builds the page. `notebook.py` has
`show`. `content.py` chooses what a page contains, and `body.py` writes its HTML.
"""
