"""OpenAI and Cohere keep the embedder contract over real HTTP, and meet limits and faults as they should."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import pytest_asyncio
import structlog
from pydantic import SecretStr

import cohere_server
import openai_server
from askbook.config import CohereSettings, EmbedderSettings, OpenAISettings
from askbook.embedding.cohere import CohereEmbedder
from askbook.embedding.http import HttpEmbedder, Limits
from askbook.embedding.openai import OpenAIEmbedder
from askbook.errors import ConfigurationError, EmbedderBusy, ServiceUnavailable
from askbook.remote import Backoff
from cohere_server import CohereServer
from contracts.embedder import EmbedderContract
from openai_server import OpenAIServer, Reply

QUICK = Backoff(attempts=3, base=0.01, cap=0.2)


@pytest.fixture(scope="module")
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def cohere() -> Iterator[CohereServer]:
    with CohereServer() as server:
        yield server


def make_openai(
    server: OpenAIServer, key: str | None = openai_server.KEY, **given: Any
) -> OpenAIEmbedder:
    names = EmbedderSettings.model_fields
    embedder = EmbedderSettings(**{k: v for k, v in given.items() if k in names})
    secret = None if key is None else SecretStr(key)
    settings = OpenAISettings(openai_api_key=secret, openai_base_url=server.url)
    rest: dict[str, Any] = {k: v for k, v in given.items() if k not in names}
    return OpenAIEmbedder(embedder, settings, patient=QUICK, prompt=QUICK, **rest)


def make_cohere(
    server: CohereServer, key: str | None = cohere_server.KEY, **given: Any
) -> CohereEmbedder:
    names = EmbedderSettings.model_fields
    embedder = EmbedderSettings(**{k: v for k, v in given.items() if k in names})
    secret = None if key is None else SecretStr(key)
    settings = CohereSettings(cohere_api_key=secret, cohere_base_url=server.url)
    rest: dict[str, Any] = {k: v for k, v in given.items() if k not in names}
    return CohereEmbedder(embedder, settings, patient=QUICK, prompt=QUICK, **rest)


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def server(self, openai: OpenAIServer) -> None:
        self._server = openai

    def make(self) -> OpenAIEmbedder:
        return make_openai(self._server)


class TestOpenAIEmbedderWithNumbersOutOfOrder(TestOpenAIEmbedder):
    """A server that sends decimal numbers, last text first."""

    @pytest.fixture(autouse=True)
    def server(self, openai: OpenAIServer) -> Iterator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]  # cleans up
        self._server = openai
        openai.shuffled, openai.knows_base64 = True, False
        yield
        openai.shuffled, openai.knows_base64 = False, True


class TestCohereEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def server(self, cohere: CohereServer) -> None:
        self._server = cohere

    def make(self) -> CohereEmbedder:
        return make_cohere(self._server)


# --- Both vendors ---

Make = Callable[..., HttpEmbedder]


@pytest.fixture(params=["openai", "cohere"])
def server(request: pytest.FixtureRequest) -> Iterator[OpenAIServer]:
    found: OpenAIServer = request.getfixturevalue(request.param)
    found.settle()
    found.most_at_once = 0
    yield found
    found.settle()
    found.pace, found.strict_tokens = 0.0, False


@pytest_asyncio.fixture
async def make(server: OpenAIServer) -> AsyncIterator[Make]:
    made: list[HttpEmbedder] = []

    def making(**given: Any) -> HttpEmbedder:
        if isinstance(server, CohereServer):
            made.append(make_cohere(server, **given))
        else:
            made.append(make_openai(server, **given))
        return made[-1]

    yield making
    for embedder in made:
        await embedder.close()


def texts_of(body: dict[str, Any]) -> list[str]:
    return body.get("input") or body["texts"]


async def test_batches_by_number_of_texts_and_by_tokens(server: OpenAIServer, make: Make) -> None:
    embedder = make(limits=Limits(texts=4, tokens=60, tokens_per_text=60))
    texts = [f"text number {n}" for n in range(10)] + ["robot " * 40, "arm " * 40]
    vectors = await embedder.embed_passages(texts)
    sent = [texts_of(body) for body in server.seen]
    assert sorted(text for batch in sent for text in batch) == sorted(texts)
    assert max(len(batch) for batch in sent) == 4
    assert all(sum(embedder.count_tokens(batch)) <= 60 for batch in sent)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal((await embedder.embed_passages([text]))[0], vector)


async def test_the_vendor_s_own_limits_are_kept(server: OpenAIServer, make: Make) -> None:
    vectors = await make().embed_passages([f"text {n}" for n in range(2100)])
    assert len(vectors) == 2100
    most = 96 if isinstance(server, CohereServer) else 2048
    assert max(len(texts_of(body)) for body in server.seen) == most


async def test_sends_only_so_many_requests_at_once(server: OpenAIServer, make: Make) -> None:
    server.pace = 0.02
    embedder = make(limits=Limits(texts=1, tokens=1000, tokens_per_text=500))
    await embedder.embed_passages([f"text {n}" for n in range(20)])
    assert 1 < server.most_at_once <= 4


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_tries_again_when_the_vendor_stumbles(
    server: OpenAIServer, make: Make, status: int
) -> None:
    server.replies = [Reply(status=status, times=2)]
    assert len(await make().embed_passages(["one", "two"])) == 2
    assert len(server.seen) == 3


async def test_waits_as_long_as_the_vendor_asks(server: OpenAIServer, make: Make) -> None:
    loop = asyncio.get_running_loop()
    server.replies = [Reply(status=429, headers={"Retry-After": "0.15"})]
    started = loop.time()
    await make().embed_query("one")
    assert loop.time() - started >= 0.15


async def test_a_long_pause_is_left_to_the_caller(server: OpenAIServer, make: Make) -> None:
    server.replies = [Reply(status=429, headers={"Retry-After": "90"})]
    with pytest.raises(EmbedderBusy) as caught:
        await make().embed_passages(["one"])
    assert caught.value.retry_after == 90.0
    assert len(server.seen) == 1


async def test_gives_up_after_bounded_tries(server: OpenAIServer, make: Make) -> None:
    server.replies = [Reply(status=429, times=10)]
    with pytest.raises(EmbedderBusy, match="limits the rate") as caught:
        await make().embed_passages(["one"])
    assert caught.value.retry_after is None
    assert len(server.seen) == QUICK.attempts
    server.replies = [Reply(status=503, times=10)]
    with pytest.raises(ServiceUnavailable, match="answered 503"):
        await make().embed_passages(["one"])


async def test_survives_dropped_connections(server: OpenAIServer, make: Make) -> None:
    server.http.drops = 2
    assert len(await make().embed_passages(["one"])) == 1


async def test_a_slow_vendor_is_not_waited_for_forever(server: OpenAIServer, make: Make) -> None:
    embedder = make(timeout=httpx.Timeout(0.2))
    server.replies = [Reply(delay=0.5)]
    assert len(await embedder.embed_passages(["one"])) == 1
    server.replies = [Reply(delay=0.5, times=3)]
    with pytest.raises(ServiceUnavailable, match="did not answer in time"):
        await embedder.embed_passages(["one"])


async def test_an_unreachable_vendor_is_named(server: OpenAIServer, make: Make) -> None:
    embedder = make()
    server.http.stop()
    try:
        with pytest.raises(ServiceUnavailable, match="cannot be reached"):
            await embedder.embed_query("one")
    finally:
        server.http.start()
    assert len(await embedder.embed_query("one"))


MALFORMED = [
    b"",
    b"<html>502</html>",
    b"[]",
    b"{}",
    b'{"data": null, "embeddings": null}',
    b'{"data": [{"index": 0}], "embeddings": {"float": null}}',
    b'{"data": [], "embeddings": {"float": []}}',
    b'{"data": [{"index": 5, "embedding": [1.0]}], "embeddings": {"float": "abc"}}',
    b'{"data": [{"index": 0, "embedding": "!!"}], "embeddings": {"float": [["a"]]}}',
    b'{"data": [{"index": 0, "embedding": [[1.0]]}], "embeddings": {"float": [[[1.0]]]}}',
]


@pytest.mark.parametrize("body", MALFORMED)
async def test_a_malformed_answer_is_tried_again_then_told(
    server: OpenAIServer, make: Make, body: bytes
) -> None:
    server.replies = [Reply(body=body)]
    assert len(await make().embed_passages(["one"])) == 1
    server.replies = [Reply(body=body, times=3)]
    with pytest.raises(ServiceUnavailable, match="no embedding"):
        await make().embed_passages(["one"])


@pytest.mark.parametrize("number", ["0.0", "NaN"])
async def test_vectors_without_direction_are_refused(
    server: OpenAIServer, make: Make, number: str
) -> None:
    embedder = make()
    vector = "[" + ",".join([number] * embedder.fingerprint.dimension) + "]"
    body = '{"data": [{"index": 0, "embedding": V}], "embeddings": {"float": [V]}}'
    server.replies = [Reply(body=body.replace("V", vector).encode(), times=3)]
    with pytest.raises(ServiceUnavailable, match="zero or not finite"):
        await embedder.embed_query("one")


async def test_a_wrong_dimension_is_refused_at_once(server: OpenAIServer, make: Make) -> None:
    short = {
        "data": [{"index": 0, "embedding": [0.6, 0.8]}],
        "embeddings": {"float": [[0.6, 0.8]]},
    }
    embedder = make()
    server.replies = [Reply(body=json.dumps(short).encode())]
    with pytest.raises(ConfigurationError, match="dimension 2, but") as caught:
        await embedder.embed_query("one")
    assert str(embedder.fingerprint.dimension) in caught.value.message
    assert "MODEL" in caught.value.suggestion
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_names_the_setting_and_never_the_key(
    server: OpenAIServer, make: Make, status: int
) -> None:
    secret = "sk-very-secret"
    server.replies = [Reply(status=status, message=f"Incorrect API key provided: {secret}")]
    with structlog.testing.capture_logs() as logs, pytest.raises(ConfigurationError) as caught:
        await make(key=secret).embed_query("one")
    assert "API_KEY" in caught.value.suggestion
    assert len(server.seen) == 1
    assert secret not in str(caught.value) + repr(caught.value.__cause__) + str(logs)


async def test_a_key_echoed_elsewhere_is_masked(server: OpenAIServer, make: Make) -> None:
    secret = "sk-very-secret"
    server.replies = [Reply(status=503, message=f"no backend for {secret}", times=3)]
    with structlog.testing.capture_logs() as logs, pytest.raises(ServiceUnavailable) as caught:
        await make(key=secret).embed_query("one")
    assert "********" in caught.value.message
    assert secret not in str(caught.value) + str(logs)


@pytest.mark.parametrize("key", [None, "", "  "])
def test_a_missing_key_names_the_variable(
    openai: OpenAIServer, cohere: CohereServer, key: str | None
) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        make_openai(openai, key=key)
    with pytest.raises(ConfigurationError, match="COHERE_API_KEY is not set"):
        make_cohere(cohere, key=key)


async def test_an_unknown_model_is_told_once(server: OpenAIServer, make: Make) -> None:
    message = "The model does not exist"
    server.replies = [Reply(status=404, message=message, code="model_not_found")]
    with pytest.raises(ConfigurationError, match=message) as caught:
        await make().embed_query("one")
    assert "MODEL" in caught.value.suggestion
    assert len(server.seen) == 1


async def test_counts_tokens_and_money(server: OpenAIServer, make: Make) -> None:
    embedder = make()
    assert embedder.usage.cost_usd is None
    assert embedder.usage.requests == 0
    await embedder.embed_passages(["one two three", "four five"])
    await embedder.embed_query("six")
    used = embedder.usage
    assert (used.requests, used.texts, used.tokens) == (2, 3, 6)
    price = 0.10 if isinstance(server, CohereServer) else 0.02
    assert used.cost_usd == pytest.approx(6 * price / 1e6, abs=1e-6)
    with structlog.testing.capture_logs() as logs:
        await embedder.close()
    [entry] = [log for log in logs if log["event"] == "embedder_usage"]
    assert (entry["tokens"], entry["texts"]) == (6, 3)


async def test_estimates_tokens_when_the_vendor_does_not_tell(
    server: OpenAIServer, make: Make
) -> None:
    embedder = make()
    vector = [1.0] * embedder.fingerprint.dimension
    answer = {"data": [{"embedding": vector}], "embeddings": {"float": [vector]}}
    server.replies = [Reply(body=json.dumps(answer).encode())]
    await embedder.embed_query("one two three")
    assert embedder.usage.tokens == embedder.count_tokens(["one two three"])[0]


async def test_a_cancelled_caller_leaves_no_request_behind(
    server: OpenAIServer, make: Make
) -> None:
    server.pace = 0.3
    task = asyncio.create_task(make().embed_passages(["one"] * 3))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# --- OpenAI alone ---


@pytest.fixture
def fresh(openai: OpenAIServer) -> Iterator[OpenAIServer]:
    openai.settle()
    yield openai
    openai.settle()
    openai.strict_tokens = False


async def test_an_estimate_too_low_is_made_good(fresh: OpenAIServer) -> None:
    """Texts whose tokens were underestimated are sent apart and cut further, never lost."""
    fresh.strict_tokens = True
    embedder = make_openai(fresh)
    texts = ["short", "The robot moves. " * 900, "also short"]
    vectors = await embedder.embed_passages(texts)
    assert len(vectors) == 3
    [alone] = await embedder.embed_passages(["short"])
    np.testing.assert_array_equal(vectors[0], alone)
    await embedder.close()


async def test_an_empty_account_is_not_asked_again(fresh: OpenAIServer) -> None:
    fresh.replies = [Reply(status=429, code="insufficient_quota", message="You exceeded …")]
    embedder = make_openai(fresh)
    with pytest.raises(ServiceUnavailable, match="no quota left") as caught:
        await embedder.embed_query("one")
    assert not isinstance(caught.value, EmbedderBusy)
    assert len(fresh.seen) == 1
    await embedder.close()


async def test_milliseconds_to_wait_are_understood(fresh: OpenAIServer) -> None:
    fresh.replies = [Reply(status=429, headers={"retry-after-ms": "30", "retry-after": "1"})]
    embedder = make_openai(fresh)
    assert len(await embedder.embed_query("one")) == 1536
    await embedder.close()


async def test_shortened_vectors_are_asked_for(fresh: OpenAIServer) -> None:
    embedder = make_openai(fresh, openai_embedding_dimensions=256)
    assert embedder.fingerprint.dimension == 256
    assert len(await embedder.embed_query("one")) == 256
    assert fresh.seen[-1]["dimensions"] == 256
    await embedder.close()
    whole = make_openai(fresh, openai_embedding_dimensions=1536)
    await whole.embed_query("one")
    assert "dimensions" not in fresh.seen[-1]
    await whole.close()


async def test_another_server_s_model_needs_its_dimension(fresh: OpenAIServer) -> None:
    with pytest.raises(ConfigurationError, match="is not known") as caught:
        make_openai(fresh, openai_embedding_model="local-model")
    assert "ASKBOOK_OPENAI_EMBEDDING_DIMENSIONS" in caught.value.suggestion
    embedder = make_openai(
        fresh, openai_embedding_model="local-model", openai_embedding_dimensions=16
    )
    assert len(await embedder.embed_query("one")) == 16
    assert "dimensions" not in fresh.seen[-1]
    assert embedder.usage.cost_usd is None
    await embedder.close()


# --- Cohere alone ---


async def test_cohere_is_told_what_a_text_is(cohere: CohereServer) -> None:
    cohere.seen.clear()
    embedder = make_cohere(cohere)
    await embedder.embed_query("one")
    await embedder.embed_passages(["one"])
    assert [body["input_type"] for body in cohere.seen] == ["search_query", "search_document"]
    assert all(body["truncate"] == "END" for body in cohere.seen)
    await embedder.close()


def test_an_unknown_cohere_model_is_refused_with_the_known_ones(cohere: CohereServer) -> None:
    with pytest.raises(ConfigurationError, match="COHERE_MODEL") as caught:
        make_cohere(cohere, cohere_model="embed-klingon-v1.0")
    assert "embed-english-v3.0" in caught.value.suggestion


def test_keys_are_not_part_of_what_a_vendor_prints() -> None:
    settings = OpenAISettings(openai_api_key=SecretStr("sk-very-secret"), openai_base_url=None)
    assert "sk-very-secret" not in repr(settings) + settings.model_dump_json()
