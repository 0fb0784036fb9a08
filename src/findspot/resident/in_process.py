"""Answering an assistant without a resident process: the same session, in the process that the pipe is in."""

from __future__ import annotations

import socket
from concurrent.futures import wait

from findspot.core.log import keep_log
from findspot.core.paths import home_folder
from findspot.resident.sessions import Sessions
from findspot.resident.terms import terms_of
from findspot.serve.library import Library
from findspot.serve.mcp.server import settings_here


class InProcess:
    """One session, and everything that it needs."""

    def __init__(self, connection: socket.socket, arguments: list[str]) -> None:
        keep_log(home_folder() / "logs", settings_here().log.level)
        self._library = Library()
        terms = terms_of(arguments, self._library)
        self._sessions = Sessions(self._library)
        self._session = self._sessions.open(connection, terms)
        self.reading_tools = self._sessions.reading_tools
        if terms.asks_projects:
            self._library.prepare_soon()

    def join(self) -> None:
        """Wait for the end of the session, and close everything."""
        wait([self._session])
        self._sessions.close()
        self._library.close()
