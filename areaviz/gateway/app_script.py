"""Runs app.py for Streamlit, from a folder without a "pages" folder next to it.

Streamlit would otherwise run the files in "pages" directly, without app.py, for the first visitors
after a start.
"""

from importlib.util import module_from_spec, spec_from_file_location

from areaviz.data.paths import APP

# Load a new module for every run of a page, as Streamlit does with a script.
_spec = spec_from_file_location("app", APP)
assert _spec is not None and _spec.loader is not None
_spec.loader.exec_module(module_from_spec(_spec))
