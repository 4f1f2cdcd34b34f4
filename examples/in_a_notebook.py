"""The cells of a notebook: a trace in the same interactive view as in the app.

Open it in an editor that runs cells (# %%), or paste the cells into Jupyter.
"""

# %% A trace: stored, as here, or made by a model (see translate_and_export.py)

import areaviz
from areaviz.data.places import ASSETS
from areaviz.trace import codec
from areaviz.trace.request import Focus

trace = codec.load(ASSETS / "home.npz")

# %% Look into it: the last line of a cell is what the notebook shows
areaviz.show(trace)

# %% The same, at head 2 of the second layer, in a lower frame
areaviz.show(trace, Focus("encoder-decoder", layer=1, head=1), height=700)
