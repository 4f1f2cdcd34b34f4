"""Building blocks of figures: theme, labels, axes, pictures, and parts that several views share.

`base.View` defines a view, `theme` starts a figure for the screen or for print, and `export` writes
figures and tables as files.
"""
