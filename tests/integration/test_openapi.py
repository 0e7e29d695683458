"""The OpenAPI document says what the server does: generated requests, right and wrong, meet no surprise."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from askbook.api.app import create_app
from askbook.bootstrap import open_keys
from askbook.config import load_settings
from data_directories import copy_data

UNKNOWN = ("additionalProperties", "Authorization")
"""A query may name what nobody asks for, and the key is sent whatever the example left out."""


def rejects_wrong_values(context: Any, response: Any, case: Any) -> Any:
    """As the library's own check, but for names a route does not know."""
    try:
        return negative_data_rejection(context, response, case)
    except AcceptedNegativeData as found:
        wrong = [line for line in str(found).splitlines() if "violates" in line]
        if all(any(name in line for name in UNKNOWN) for line in wrong):
            return None
        raise


CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    rejects_wrong_values,
    unsupported_method,
)
EXAMPLES = 12


@pytest.fixture(scope="module")
def data(two_books: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_data(two_books, tmp_path_factory.mktemp("described") / "data")


@pytest.fixture(scope="module")
def key(data: Path) -> str:
    async def create() -> str:
        async with open_keys(load_settings(data_dir=data)) as (keys, _):
            return (await keys.create("tester", admin=True, books=["gardens"], rate=1_000_000))[1]

    return asyncio.run(create())


@pytest.fixture(scope="module")
def address(data: Path, key: str) -> Iterator[str]:
    """The application on a port, for a client that is not asynchronous."""
    listening = socket.create_server(("127.0.0.1", 0))
    # Hundreds of questions, whose answers are not the matter here.
    app = create_app(load_settings(data_dir=data, judge=False))
    server = uvicorn.Server(uvicorn.Config(app, ws="none", log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()


# Nothing is opened before the application starts; the document alone is needed to list its operations.
schema = schemathesis.openapi.from_dict(create_app(load_settings()).openapi())


# The server runs in a thread of this process and may draw random numbers while an example is made.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@schema.parametrize()  # pyright: ignore[reportUntypedFunctionDecorator]  # the library says no more
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
def test_generated_requests_meet_no_surprise(case: Any, address: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    case.call_and_validate(base_url=address, headers=headers, checks=CHECKS)
