"""Building blocks of figures, and the views that are plain figures.

`view.py` defines a view and writes figures as files. `marks.py` describes the content of a
figure, which `plotly.py` and `matplotlib.py` draw. `select.py` reads a focus from a trace.
"""
