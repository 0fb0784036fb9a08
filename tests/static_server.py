"""A web server on loopback that serves a folder, and misbehaves where a test wants it to."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType


class StaticServer:
    """Serves a folder; the paths of all requests are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.requests: list[str] = []
        self.redirects: dict[str, str] = {}
        """Path → the address that it redirects to."""
        self.silent: set[str] = set()
        """Paths whose answer never comes."""
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def wait_for_end(self) -> None:
        self._ended.wait()

    def __enter__(self) -> StaticServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, site: StaticServer, *arguments: object, **options: object) -> None:
        self._site = site
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._site.requests.append(self.path)
        if self.path in self._site.redirects:
            self.send_response(302)
            self.send_header("Location", self._site.redirects[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path in self._site.silent:
            self._site.wait_for_end()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        """Print nothing."""
