"""The static site: Home, live pages, a gallery and cards, written as files without a server.

`pages.py` has the registry of its pages. Each page is a function and one line there.
"""
