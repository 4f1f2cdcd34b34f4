"""The script that Streamlit runs. It runs app.py from a folder without a "pages" folder next to it.

Streamlit would otherwise run the files in "pages" directly for the first visitors after a start,
without app.py.
"""

from importlib.util import module_from_spec, spec_from_file_location

from areaviz.samples.paths import APP

# A new module is loaded for every run of a page, as Streamlit does with a script.
_spec = spec_from_file_location("app", APP)
assert _spec is not None and _spec.loader is not None
_spec.loader.exec_module(module_from_spec(_spec))
