"""What figures are made of: looks, labels, axes, pictures, and the parts that several views share.

Doors: `base.View` is what a view is, `theme` begins a figure for the screen or for paper, and
`export` writes figures and tables as files.
"""
