import runpy
from pathlib import Path

import pytest

KEPT = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "kept.py"))
KeptRows = KEPT["KeptRows"]


def test_rows_are_found_again_and_a_torn_one_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "state" / "rows.pickle"
    rows = KeptRows(file, tuple)
    assert rows.rows == []
    rows.put(("1", "bees"))
    whole = file.read_bytes()
    rows.put(("2", "tides"))
    file.write_bytes(file.read_bytes()[:-4])
    again = KeptRows(file, tuple)
    assert again.rows == [("1", "bees")]
    assert file.read_bytes() == whole
    again.put(("2", "tides"))
    assert KeptRows(file, tuple).rows == [("1", "bees"), ("2", "tides")]


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.pickle"
    KeptRows(file, str).put("bees")
    with pytest.raises(TypeError, match=r"rows\.pickle holds a str"):
        KeptRows(file, tuple)


def test_states_tell_what_is_rated_from_what_is_searched() -> None:
    state = KEPT["state_of_retrievals"]
    assert state(rated=True) == state(rated=True)
    assert state(rated=True) != state(rated=False)
