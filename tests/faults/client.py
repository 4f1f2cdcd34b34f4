"""A client of one browser tab, which speaks Streamlit's WebSocket protocol."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self
from urllib.request import Request, urlopen

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from areaviz.backend.access import make_reader_id, name_reader_cookie

PATIENCE = 120.0
LABELLED = ("text_area", "text_input", "selectbox", "button_group", "button", "file_uploader")
"""Kinds of widgets that a session can address by their label."""


def new_cookie(url: str) -> str:
    """Return the cookie header of a new reader of the app at `url`."""
    return f"{name_reader_cookie(int(url.rsplit(':', 1)[1]))}={make_reader_id()}"


@dataclass(frozen=True, slots=True)
class Shown:
    """The messages of one rerun of a page.

    Args:
        seconds: from the request to the end of the rerun.
        messages: everything that was sent, as raw messages.
    """

    seconds: float
    messages: tuple[ForwardMsg, ...]

    @property
    def content(self) -> bytes:
        """All messages, joined."""
        return b"\n".join(message.SerializeToString() for message in self.messages)

    @property
    def errors(self) -> list[str]:
        """The texts of error boxes and exceptions."""
        elements = [
            message.delta.new_element for message in self.messages if message.HasField("delta")
        ]
        said = []
        for one in elements:
            # Warnings are not errors, such as the warning that a model is unsure.
            if one.HasField("alert") and one.alert.format == Alert.ERROR:
                said.append(one.alert.body)
        return said + [one.exception.message for one in elements if one.HasField("exception")]

    @property
    def texts(self) -> list[str]:
        """The plain texts of the page."""
        elements = [
            message.delta.new_element for message in self.messages if message.HasField("delta")
        ]
        return [one.text.body for one in elements if one.HasField("text")]


@dataclass(slots=True)
class Session:
    """One open tab."""

    socket: ClientConnection
    url: str
    page: str = ""
    widgets: dict[str, str] = field(default_factory=dict)
    """Ids of the page's widgets by label."""
    files: dict[str, WidgetState] = field(default_factory=dict)
    """Uploaded files by widget. A browser sends them with every interaction."""

    @classmethod
    @contextmanager
    def open(cls, url: str, cookies: str = "", session: str = "") -> Iterator[Self]:
        """Open a new tab of the app without visiting a page.

        Args:
            url: of the app, "http://HOST:PORT".
            cookies: the browser's cookies, as in the header.
            session: the id of an earlier session to resume, if any.
        """
        address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
        protocols = [
            Subprotocol("streamlit"),
            *((Subprotocol("none"), Subprotocol(session)) if session else ()),
        ]
        headers = {"Cookie": cookies} if cookies else {}
        with connect(
            address,
            origin=Origin(url),
            subprotocols=protocols,
            additional_headers=headers,
            max_size=None,
            # A busy machine may need longer than the limits of the library.
            open_timeout=PATIENCE,
            ping_interval=None,
        ) as socket:
            yield cls(socket, url)

    def visit(self, page: str, query: str = "") -> Shown:
        """Visit a page by its address."""
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = page, query
        return self._shown(message)

    def write(self, label: str, text: str) -> Shown:
        """Type into a text area of the current page."""
        return self._shown(self._typed(label, text))

    def choose(self, label: str, option: str) -> Shown:
        """Choose an option of a select box."""
        return self._shown(self._changed(WidgetState(id=self.widgets[label], string_value=option)))

    def segment(self, label: str, option: str) -> Shown:
        """Choose a segment of a segmented control."""
        state = WidgetState(id=self.widgets[label])
        state.string_array_value.data.append(option)
        return self._shown(self._changed(state))

    def press(self, label: str) -> Shown:
        """Press a button."""
        return self._shown(self._changed(WidgetState(id=self.widgets[label], trigger_value=True)))

    def again(self) -> Shown:
        """Run the page once more, as any interaction does."""
        return self._shown(self._act())

    def bring(self, label: str, name: str, content: bytes) -> Shown:
        """Upload a file to the widget with that label, and run the page."""
        self.upload(label, name, content)
        return self.again()

    def upload(self, label: str, name: str, content: bytes) -> None:
        """Send a file to the app. The page gets it with the next interaction."""
        asked = BackMsg()
        asked.file_urls_request.request_id, asked.file_urls_request.file_names[:] = "1", [name]
        self.socket.send(asked.SerializeToString())
        while True:
            message = ForwardMsg.FromString(self.socket.recv(PATIENCE))
            if message.HasField("file_urls_response"):
                break
        place = message.file_urls_response.file_urls[0]
        self._put(place.upload_url, name, content)
        info = UploadedFileInfo(
            name=name, size=len(content), file_id=place.file_id, file_urls=place
        )
        identity = self.widgets[label]
        state = FileUploaderState(uploaded_file_info=[info])
        self.files[identity] = WidgetState(id=identity, file_uploader_state_value=state)

    def _put(self, path: str, name: str, content: bytes) -> None:
        edge = "areavizareavizareaviz"
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        mark = (
            generate_xsrf_token_string()
        )  # the app only compares the value of the cookie with the header
        headers = {
            "Content-Type": f"multipart/form-data; boundary={edge}",
            "Cookie": f"_streamlit_xsrf={mark}",
            "X-Xsrftoken": mark,
            "Origin": self.url,
        }
        body = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
        with urlopen(Request(f"{self.url}{path}", body, headers, method="PUT"), timeout=PATIENCE):
            pass

    def write_and_leave(self, label: str, text: str) -> None:
        """Type, and close the tab without waiting for the answer."""
        self.socket.send(self._typed(label, text).SerializeToString())
        self.socket.close()

    def _typed(self, label: str, text: str) -> BackMsg:
        return self._changed(WidgetState(id=self.widgets[label], string_value=text))

    def _changed(self, state: WidgetState) -> BackMsg:
        message = self._act()
        message.rerun_script.widget_states.widgets.append(state)
        return message

    def _act(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.page_script_hash = self.page
        message.rerun_script.widget_states.widgets.extend(self.files.values())
        return message

    def _shown(self, message: BackMsg) -> Shown:
        start = time.perf_counter()
        self.socket.send(message.SerializeToString())
        found = tuple(self._until_finished())
        return Shown(time.perf_counter() - start, found)

    def _until_finished(self) -> Iterator[ForwardMsg]:
        """Return the messages of a run and of the runs that follow it directly."""
        while True:
            message = ForwardMsg.FromString(self.socket.recv(PATIENCE))
            if message.HasField("new_session"):
                self.page = message.new_session.page_script_hash
            if message.HasField(
                "navigation"
            ):  # names the page of the app; the hash before it belongs to the app itself
                self.page = message.navigation.page_script_hash
            if message.HasField("delta"):
                self._note(message.delta.new_element)
            yield message
            if message.WhichOneof("type") == "script_finished" and message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            ):
                return

    def _note(self, element: Element) -> None:
        """Remember the id of a widget if the session can use it."""
        kind = element.WhichOneof("type")
        if kind in LABELLED:
            widget = getattr(element, kind)
            self.widgets[widget.label] = widget.id
