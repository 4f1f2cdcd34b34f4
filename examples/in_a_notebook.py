"""Show a trace in a notebook, in the interactive view of the app.

Open this file in an editor that runs cells (# %%), or paste the cells into Jupyter.
"""

# %% Load a stored trace. A model can make one, too: see translate_and_export.py

import areaviz
from areaviz.samples.paths import ASSETS
from areaviz.trace import file
from areaviz.trace.request import Focus

trace = file.load(ASSETS / "home.npz")

# %% Show it: a notebook shows the value of a cell's last line
areaviz.show(trace)

# %% Show it at layer 2, head 2, in a frame of another height
areaviz.show(trace, Focus("encoder-decoder", layer=1, head=1), height=700)
