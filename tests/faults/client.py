"""A session as a browser has it, without the browser: Streamlit's WebSocket protocol, one page at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self
from urllib.request import Request, urlopen

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Shown:
    """What a rerun of a page sent. seconds: from asking to its end. messages: all of it, as it came over the wire."""

    seconds: float
    messages: tuple[ForwardMsg, ...]

    @property
    def content(self) -> bytes:
        """Everything that was sent, one after the other."""
        return b"\n".join(message.SerializeToString() for message in self.messages)

    @property
    def errors(self) -> list[str]:
        """What red panels and exceptions say."""
        elements = [message.delta.new_element for message in self.messages if message.HasField("delta")]
        said = [one.alert.body for one in elements if one.HasField("alert")]
        return said + [one.exception.message for one in elements if one.HasField("exception")]

    @property
    def texts(self) -> list[str]:
        """The plain texts of the page."""
        elements = [message.delta.new_element for message in self.messages if message.HasField("delta")]
        return [one.text.body for one in elements if one.HasField("text")]


@dataclass(slots=True)
class Session:
    """One open tab."""

    socket: ClientConnection
    url: str
    page: str = ""
    areas: dict[str, str] = field(default_factory=dict)
    """The text areas of the page, by label: their widgets' ids."""
    others: dict[str, str] = field(default_factory=dict)
    """The same of what files, and one of several options, are chosen with."""
    held: dict[str, WidgetState] = field(default_factory=dict)
    """What was chosen with those: a browser sends it with every act."""

    @classmethod
    @contextmanager
    def open(cls, url: str) -> Iterator[Self]:
        """A new tab of the app at `url`, "http://HOST:PORT", with nothing asked yet."""
        address, protocol = f"{url.replace('http', 'ws', 1)}/_stcore/stream", Subprotocol("streamlit")
        with connect(address, origin=Origin(url), subprotocols=[protocol], max_size=None) as socket:
            yield cls(socket, url)

    def visit(self, page: str, query: str = "") -> Shown:
        """Go to a page by its address."""
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = page, query
        return self._shown(message)

    def write(self, label: str, text: str) -> Shown:
        """Type into a text area of the page that is open."""
        return self._shown(self._typed(label, text))

    def choose(self, label: str, name: str, content: bytes) -> Shown:
        """Upload a file, as the widget of that label does, and let the page run."""
        self.upload(label, name, content)
        return self.again()

    def pick(self, label: str, option: str) -> Shown:
        """Choose one of the options that stand side by side, and let the page run."""
        identity = self.others[label]
        self.held[identity] = WidgetState(id=identity)
        self.held[identity].string_array_value.data.append(option)
        return self.again()

    def again(self) -> Shown:
        """Let the page run once more, as any act does."""
        return self._shown(self._rerun())

    def ask_again(self) -> None:
        """The same without waiting for it."""
        self.socket.send(self._rerun().SerializeToString())

    def upload(self, label: str, name: str, content: bytes) -> None:
        """Send a file to the app; the next act of this session brings it to the page."""
        asked = BackMsg()
        asked.file_urls_request.request_id, asked.file_urls_request.file_names[:] = "1", [name]
        self.socket.send(asked.SerializeToString())
        while True:
            message = ForwardMsg.FromString(self.socket.recv(PATIENCE))
            if message.HasField("file_urls_response"):
                break
        place = message.file_urls_response.file_urls[0]
        self._put(place.upload_url, name, content)
        info = UploadedFileInfo(name=name, size=len(content), file_id=place.file_id, file_urls=place)
        identity = self.others[label]
        state = FileUploaderState(uploaded_file_info=[info])
        self.held[identity] = WidgetState(id=identity, file_uploader_state_value=state)

    def _put(self, path: str, name: str, content: bytes) -> None:
        edge = "areavizareavizareaviz"
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        mark = generate_xsrf_token_string()  # the app only wants the same in the cookie and in the header
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
        message = self._rerun()
        message.rerun_script.widget_states.widgets.append(WidgetState(id=self.areas[label], string_value=text))
        return message

    def _rerun(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.page_script_hash = self.page
        message.rerun_script.widget_states.widgets.extend(self.held.values())
        return message

    def _shown(self, message: BackMsg) -> Shown:
        start = time.perf_counter()
        self.socket.send(message.SerializeToString())
        found = tuple(self._until_finished())
        return Shown(time.perf_counter() - start, found)

    def _until_finished(self) -> Iterator[ForwardMsg]:
        """The messages of the run and of those it goes over into."""
        while True:
            message = ForwardMsg.FromString(self.socket.recv(PATIENCE))
            if message.HasField("new_session"):
                self.page = message.new_session.page_script_hash
            if message.HasField("navigation"):  # what a page is called by name turns out to be
                self.page = message.navigation.page_script_hash
            if message.HasField("delta"):
                self._find(message.delta.new_element)
            yield message
            if message.WhichOneof("type") == "script_finished" and message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            ):
                return

    def _find(self, element: Element) -> None:
        """Remember a widget by its label."""
        if element.HasField("text_area"):
            self.areas[element.text_area.label] = element.text_area.id
        for kind in ("file_uploader", "button_group"):
            if element.HasField(kind):
                widget = getattr(element, kind)
                self.others[widget.label] = widget.id
