"""The error tree is the one its docstring draws."""

import re

import pytest

import askbook.api.errors as http
from askbook import errors
from askbook.errors import AskbookError


def drawn() -> dict[str, tuple[str, int]]:
    """Class → (parent, exit code), read from the drawing."""
    tree: dict[str, tuple[str, int]] = {}
    path: list[str] = ["AskbookError"]
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([│ ]*)[├└]── (\w+) .* exit (\d+)$", line)
        if match:
            depth = len(match.group(1)) // 4 + 1
            path[depth:] = [match.group(2)]
            tree[match.group(2)] = (path[depth - 1], int(match.group(3)))
    return tree


def every_error() -> list[type[AskbookError]]:
    found: list[type[AskbookError]] = []
    waiting = [AskbookError]
    while waiting:
        for child in waiting.pop().__subclasses__():
            if child.__module__ == errors.__name__:
                found.append(child)
                waiting.append(child)
    return found


def test_the_drawing_shows_every_error() -> None:
    assert set(drawn()) == {error.__name__ for error in every_error()}
    assert len(drawn()) >= 10


@pytest.mark.parametrize("error", every_error(), ids=lambda e: e.__name__)
def test_parents_and_exit_codes_are_as_drawn(error: type[AskbookError]) -> None:
    parent, exit_code = drawn()[error.__name__]
    assert [base.__name__ for base in error.__bases__] == [parent]
    assert error.exit_code == exit_code


def test_exit_codes_are_the_documented_ones() -> None:
    assert {error.exit_code for error in every_error()} == {2, 3, 4, 5}


def test_every_error_has_a_code_of_its_own_and_an_http_status() -> None:
    codes = [error.code for error in every_error()]
    assert len(set(codes)) == len(codes)
    for code in codes:
        assert 400 <= http.STATUS[code] < 600


def test_an_error_says_what_happened_and_what_to_do() -> None:
    error = errors.NotFound("There is no book 'x'.", "Known books: a.", {"book_id": "x"})
    assert str(error) == "There is no book 'x'. Known books: a."
    assert error.details == {"book_id": "x"}
    assert str(errors.Conflict("Only this.")) == "Only this."
    assert errors.Conflict("Only this.").details == {}
