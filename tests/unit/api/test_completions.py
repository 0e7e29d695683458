"""What of an answer becomes a link, and what must not."""

import json

import pytest
from pydantic import ValidationError

from askbook.agent.response import Citation
from askbook.api.completions import CompletionRequest, linked

BASE = "http://books.example/"


def cited(n: int, url: str = "/read/b/a.md?chunk=1#x") -> Citation:
    return Citation(
        n=n,
        page_title="A",
        section_title=None,
        page_url="/read/b/a.md",
        url=url,
        module_name="m",
        chunk_id="1",
        quote="q",
        quote_start=0,
        quote_end=1,
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is so [1].", "It is so [1](http://books.example/read/b/a.md?chunk=1#x)."),
        ("So [1][2].", "So [1](http://books.example/read/b/a.md?chunk=1#x)[2]."),
        ("`list[1]` and `[1]`", "`list[1]` and `[1]`"),
        ("```\n[1]\n```", "```\n[1]\n```"),
        ("row \\[1\\] of it", "row \\[1\\] of it"),
        ("already [1](http://x)", "already [1](http://x)"),
        ("none [7]", "none [7]"),
    ],
)
def test_only_citations_are_linked(text: str, shown: str) -> None:
    assert linked(text, [cited(1)], BASE) == shown


def test_an_address_cannot_break_out_of_its_link() -> None:
    evil = cited(1, "https://site.example/a) [click](javascript:alert(1)")
    shown = linked("So [1].", [evil], BASE)
    assert shown == ("So [1](https://site.example/a%29%20[click]%28javascript:alert%281%29).")


@pytest.mark.parametrize(
    "content", ["half \ud800 a character", [{"type": "text", "text": "\udfff"}]]
)
def test_halves_of_characters_are_refused_at_the_door(content: object) -> None:
    body = json.dumps({"model": "askbook", "messages": [{"role": "user", "content": content}]})
    with pytest.raises(ValidationError):
        CompletionRequest.model_validate(json.loads(body))


def test_instructions_of_a_client_are_no_history() -> None:
    request = CompletionRequest.model_validate(
        {
            "model": "askbook",
            "temperature": 2,
            "messages": [
                {"role": "system", "content": "You are a pirate."},
                {"role": "user", "content": "What is a node?"},
                {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "tool", "content": "{}", "tool_call_id": "1"},
                {"role": "assistant", "content": "A process."},
                {"role": "user", "content": " And a topic? "},
            ],
        }
    )
    assert [(m.role, m.content) for m in request.history] == [
        ("user", "What is a node?"),
        ("assistant", "A process."),
    ]
    assert request.question == "And a topic?"
