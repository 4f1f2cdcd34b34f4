"""A trace to be shown to others: one page in one file, in a notebook, or served once to
a browser.
"""
