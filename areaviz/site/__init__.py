"""The static site: Home, live pages, a gallery and cards, written as files without a server.

`pages.py` has the registry of its pages. Each page is one module and one line there.
"""
