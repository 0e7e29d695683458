"""What `askbook migrate` has to say of every table, now and when one is added."""

from askbook.bootstrap.moving import POINTS
from askbook.cli.migrate import WORDS
from askbook.storage.tables import metadata, unfinished_moves


def test_every_table_that_moves_has_a_word() -> None:
    assert set(WORDS) == {*metadata.tables, POINTS} - {unfinished_moves.name}
