"""YAML made to freeze or crash who reads it."""

import pytest
import yaml

from askbook.ingestion.readers.bounded_yaml import load_yaml
from askbook.ingestion.readers.frontmatter import read_frontmatter

LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 11)
)


@pytest.mark.parametrize("text", [LAUGHS, "a: " + "[" * 70_000], ids=["aliases", "brackets"])
def test_refuses_yaml_beyond_the_limits_with_its_line(text: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError, match="it has"):
        load_yaml(text)
    front = read_frontmatter("a.md", f"---\n{text}\n---\n# A\n")
    assert front.fields == {}
    assert "a.md: the frontmatter is broken at line" in front.warnings[0]


def test_reads_ordinary_aliases() -> None:
    assert load_yaml("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}
