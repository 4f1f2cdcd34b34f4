"""A page that opens uploads as the app does, with visitors dropped after about a second."""

from __future__ import annotations

from typing import Any

import streamlit as st

from areaviz.app.files import open_upload
from areaviz.app.run import get_disk_budget, keep_session_while_open

st.config.set_option("server.disconnectedSessionTTL", 1.2)
keep_session_while_open()
file = st.file_uploader("File", type="npz")
st.text(open_upload(file).request.model if file else "nothing")
st.session_state["held"] = bytearray(1 << 20)
files: Any = st.runtime.get_instance().uploaded_file_mgr
count = sum(len(of_session) for of_session in files.file_storage.values())
st.text(f"{get_disk_budget().used} bytes on disk, {count} files")
