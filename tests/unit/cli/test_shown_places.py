"""Where a terminal says that something stands."""

import pytest

from askbook.cli.answers import at_addresses, place_to_open


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("/read/robots/01-intro/a%20b.md?chunk=x&quote=0-4#the-loop", "01-intro/a b.md#the-loop"),
        ("/read/robots/index.md?chunk=x&quote=0-4", "index.md"),
        ("https://robots.example/docs/nodes#graph", "https://robots.example/docs/nodes#graph"),
        ("http://127.0.0.1:8321/read/robots/a.md", "http://127.0.0.1:8321/read/robots/a.md"),
    ],
)
def test_a_reader_can_open_what_is_shown(url: str, place: str) -> None:
    assert place_to_open(url) == place


def test_a_servers_places_become_addresses() -> None:
    places = [
        {"n": 1, "url": "/read/a?x=1#b", "page_url": "/read/a"},
        {"url": "https://b.example/"},
    ]
    assert at_addresses(places, "http://127.0.0.1:8321") == [
        {
            "n": 1,
            "url": "http://127.0.0.1:8321/read/a?x=1#b",
            "page_url": "http://127.0.0.1:8321/read/a",
        },
        {"url": "https://b.example/"},
    ]
