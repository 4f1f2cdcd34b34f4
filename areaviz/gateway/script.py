"""Runs app.py for Streamlit, from a folder that has no folder "pages" beside it.

Streamlit would run the files in "pages" by themselves, without app.py, for the first visitors of a
fresh server.
"""

from importlib.util import module_from_spec, spec_from_file_location

from areaviz.data.places import APP

# Every run of a page gets a new module, as Streamlit does with a script.
_spec = spec_from_file_location("app", APP)
assert _spec is not None and _spec.loader is not None
_spec.loader.exec_module(module_from_spec(_spec))
