"""A ticket opens the page it was signed for, for as long as it says, in the name of its key."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.access import LOCAL_GRANT, Grant
from askbook.access.tickets import LIFETIME, Ticket, issue

GRANT = Grant(key_id="abc123", scopes=frozenset({"read"}), signing_key=b"k" * 32)
PAGE = "/read/book/01-intro/lesson.md"
NOW = 1_700_000_000.0


def ticket(grant: Grant = GRANT, path: str = PAGE) -> Ticket:
    text = issue(grant, path, lambda: NOW)
    assert text is not None
    found = Ticket.parse(text)
    assert found is not None
    return found


def test_a_ticket_opens_its_page_until_it_expires() -> None:
    assert ticket().holds(GRANT, PAGE, NOW)
    assert ticket().holds(GRANT, PAGE, NOW + LIFETIME)
    assert not ticket().holds(GRANT, PAGE, NOW + LIFETIME + 3601)


def test_a_ticket_opens_nothing_else() -> None:
    for path in ("/read/book/01-intro/other.md", "/read/other/01-intro/lesson.md", PAGE + "/", ""):
        assert not ticket().holds(GRANT, path, NOW)


def test_a_ticket_of_one_key_is_worth_nothing_with_another() -> None:
    assert not ticket().holds(replace(GRANT, signing_key=b"j" * 32), PAGE, NOW)


def test_a_ticket_cannot_be_made_to_last() -> None:
    assert not replace(ticket(), expires=ticket().expires + 10**6).holds(GRANT, PAGE, NOW)


def test_links_of_one_hour_are_the_same() -> None:
    assert issue(GRANT, PAGE, lambda: 7200.0) == issue(GRANT, PAGE, lambda: 10799.0)
    assert issue(GRANT, PAGE, lambda: 7200.0) != issue(GRANT, PAGE, lambda: 10800.0)


def test_who_has_no_key_needs_no_ticket() -> None:
    assert issue(LOCAL_GRANT, PAGE) is None


@given(st.text() | st.from_regex(r"[0-9a-f.]{0,90}"))
def test_what_is_no_ticket_is_none(text: str) -> None:
    found = Ticket.parse(text)
    assert found is None or not found.holds(GRANT, PAGE, NOW)


@pytest.mark.parametrize(
    "text", ["", "a.1", "a.1." + "0" * 63, "A.1." + "0" * 64, "a.x." + "0" * 64]
)
def test_broken_tickets_are_none(text: str) -> None:
    assert Ticket.parse(text) is None
