"""How a failure is told: to a browser that opens a lesson as a page, to everybody else in the one shape."""

import pytest
from starlette.requests import Request

from askbook.api.errors import error_response, refusals


def asked(path: str, accept: str, prefix: str = "") -> Request:
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": prefix + path,
            "root_path": prefix,
            "query_string": b"",
            "headers": [(b"accept", accept.encode())],
        }
    )


@pytest.mark.parametrize("prefix", ["", "/books"])
@pytest.mark.parametrize(
    ("accept", "kind"), [("text/html,*/*;q=0.8", "text/html"), ("*/*", "application/json")]
)
def test_a_lesson_that_is_not_shown_fails_as_it_was_asked_for(
    accept: str, kind: str, prefix: str
) -> None:
    request = asked("/read/book/a.md", accept, prefix)
    response = error_response(request, 404, "not_found", "No <lesson>.")
    assert response.headers["Content-Type"].startswith(kind)
    assert response.headers["Vary"] == "Accept"
    assert (b'href="../../"' in response.body) == (kind == "text/html")
    assert (b"No <lesson>" in response.body) == (kind == "application/json")


def test_other_failures_do_not_depend_on_what_is_accepted() -> None:
    response = error_response(asked("/v1/models", "text/html"), 404, "not_found", "No.")
    assert response.headers["Content-Type"] == "application/json"
    assert "Vary" not in response.headers


def test_a_page_that_fails_is_described_in_both_its_types() -> None:
    assert set(refusals(404, of_page=True)[404]["content"]) == {"application/json", "text/html"}
