"""What Streamlit runs behind the door: app.py, from a folder without a folder "pages" beside it.

Streamlit would run the files of that folder by themselves, without app.py, for the first visitors
of a fresh server.
"""

from importlib.util import module_from_spec, spec_from_file_location

from areaviz.data.places import APP

# A new module for every run of the page, as Streamlit makes one of a script.
_spec = spec_from_file_location("app", APP)
assert _spec is not None and _spec.loader is not None
_spec.loader.exec_module(module_from_spec(_spec))
