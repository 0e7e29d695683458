"""Addresses are shown without their passwords."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.config import load_settings, masked_address
from askbook.errors import ConfigurationError


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:pw@db:5432/books", "postgresql://ann:***@db:5432/books"),
        ("postgresql://ann:p/w@1@db/books", "postgresql://ann:***@db/books"),
        (
            "postgresql://db/books?user=a&password=pw&x=1",
            "postgresql://db/books?user=a&password=***&x=1",
        ),
        ("ann:pw@db", "ann:***@db"),
        ("http://127.0.0.1:6333", "http://127.0.0.1:6333"),
        ("postgresql://ann@db/books", "postgresql://ann@db/books"),
        ("", ""),
    ],
)
def test_the_password_is_hidden_and_the_rest_shown(address: str, shown: str) -> None:
    assert masked_address(address) == shown


@given(st.text(min_size=1), st.sampled_from(["postgresql", "http", "x"]))
def test_no_password_is_ever_shown(noise: str, scheme: str) -> None:
    assert "s3cret" not in masked_address(f"{scheme}://ann:{noise}s3cret{noise}@db/books")


def test_a_malformed_setting_is_told_without_its_password() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(qdrant_url="ftp://ann:s3cret@host")
    assert "ann:***@host" in caught.value.message
    assert "s3cret" not in caught.value.message
