"""A real HTTP server in a thread, whose connections can be dropped and which can be stopped and started."""

import socket
import threading
import time
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol


class HttpServer:
    """Serves an ASGI application on a port of 127.0.0.1 that it keeps across restarts."""

    def __init__(self, app: Any, *, lifespan: bool = False) -> None:
        self._app = app
        self._lifespan = lifespan
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self.drops = 0
        """How many of the next requests get no answer but a closed connection."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        outer = self

        class Protocol(H11Protocol):
            def data_received(self, data: bytes) -> None:
                if outer.drops > 0:
                    outer.drops -= 1
                    self.transport.abort()
                else:
                    super().data_received(data)

        listening = socket.create_server(("127.0.0.1", self.port))
        config = uvicorn.Config(
            self._app,
            http=Protocol,
            ws="none",
            lifespan="on" if self._lifespan else "off",
            log_config=None,
            access_log=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the application did not start"
            time.sleep(0.005)

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            # With a lifespan the application is closed in order, once its requests are over.
            self._server.force_exit = not self._lifespan
            self._thread.join()
            self._server = self._thread = None
