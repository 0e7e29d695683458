"""What embedders behind an HTTP API share: batches, bounded concurrency, retries, checks and the bill.

A vendor's file says how its requests and answers look (`_body`, `_answer`) and what its limits are.
Tokens are estimated with the built-in tokenizer, as everywhere in askbook.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import httpx
import numpy as np
import structlog
from pydantic import SecretStr

from askbook.book import Vector
from askbook.embedding.base import Fingerprint
from askbook.errors import (
    AskbookError,
    ConfigurationError,
    EmbedderBusy,
    ServiceUnavailable,
)
from askbook.models.runtime import ModelRuntime
from askbook.remote import Backoff, Failure, call

Role: TypeAlias = Literal["query", "passage"]

CONCURRENCY = 4
TIMEOUT = httpx.Timeout(60.0, connect=10.0)
PATIENT = Backoff(attempts=6, base=0.5, cap=30.0)
"""For passages: an ingest may wait."""
PROMPT = Backoff(attempts=3, base=0.2, cap=3.0)
"""For queries: a reader is waiting."""
_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold."""

    texts: int
    tokens: int
    tokens_per_text: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What was sent so far; `cost_usd` is an estimate from list prices, None where there is none."""

    requests: int = 0
    texts: int = 0
    tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A vendor's answer as read: one raw vector per text, and the tokens billed, if told."""

    vectors: list[Any]
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Vendor:
    """How a vendor is reached and named."""

    name: str
    url: str
    api_key: SecretStr
    key_variable: str
    model_variable: str
    limits: Limits
    usd_per_million_tokens: float | None


class HttpEmbedder(ABC):
    """An `Embedder` behind an HTTP API; a vendor fills in the wire format."""

    def __init__(
        self,
        vendor: Vendor,
        fingerprint: Fingerprint,
        *,
        patient: Backoff = PATIENT,
        prompt: Backoff = PROMPT,
        timeout: httpx.Timeout = TIMEOUT,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self._vendor = vendor
        self._fingerprint = fingerprint
        self._patient = patient
        self._prompt = prompt
        self._gate = asyncio.Semaphore(concurrency)
        self._usage = Usage()
        self._runtime = ModelRuntime("embed")
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {vendor.api_key.get_secret_value()}"},
            timeout=timeout,
        )

    @abstractmethod
    def _body(self, texts: Sequence[str], role: Role) -> dict[str, Any]:
        """The JSON body of a request."""

    @abstractmethod
    def _answer(self, body: dict[str, Any]) -> Answer:
        """Read an answer, in the order of the texts; KeyError, TypeError or ValueError if malformed."""

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    @property
    def usage(self) -> Usage:
        return self._usage

    async def embed_query(self, text: str) -> Vector:
        [vector] = await self._embed([text], "query", self._prompt)
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embed(texts, "passage", self._patient)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        encodings = self._runtime.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding) for encoding in encodings]

    async def close(self) -> None:
        await self._client.aclose()
        self._runtime.close()
        used = self._usage
        if used.requests:
            log.info(
                "embedder_usage",
                embedder=self._fingerprint.name,
                requests=used.requests,
                texts=used.texts,
                tokens=used.tokens,
                cost_usd=used.cost_usd,
            )

    async def _embed(self, texts: Sequence[str], role: Role, backoff: Backoff) -> list[Vector]:
        if not texts:
            return []
        # No vendor takes an empty text; a full stop says as little.
        fitted = await asyncio.to_thread(self._fit, [t if t.strip() else "." for t in texts])
        tasks = [
            asyncio.create_task(self._embed_batch([text for text, _ in batch], role, backoff))
            for batch in _batches(fitted, self._vendor.limits)
        ]
        try:
            parts = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [vector for part in parts for vector in part]

    def _fit(self, texts: Sequence[str]) -> list[tuple[str, int]]:
        """The texts, cut to the vendor's limit, with their estimated tokens."""
        limit = self._vendor.limits.tokens_per_text
        counted = zip(texts, self.count_tokens(texts), strict=True)
        return [
            (text, tokens) if tokens <= limit else (self._cut(text, limit), limit)
            for text, tokens in counted
        ]

    def _cut(self, text: str, limit: int) -> str:
        encoding = self._runtime.tokenizer.encode(text, add_special_tokens=False)
        return text[: encoding.offsets[limit][0]]

    async def _embed_batch(
        self, texts: Sequence[str], role: Role, backoff: Backoff
    ) -> list[Vector]:
        try:
            return await self._request(texts, role, backoff)
        except _TooLong as error:
            # The estimate was too low: smaller batches, then a cut that is certain to fit, because
            # a token is at least a byte.
            if len(texts) > 1:
                middle = len(texts) // 2
                first = await self._embed_batch(texts[:middle], role, backoff)
                return first + await self._embed_batch(texts[middle:], role, backoff)
            limit = self._vendor.limits.tokens_per_text
            encoded = texts[0].encode("utf-8", "replace")
            if len(encoded) <= limit:
                raise self._unusable(413, error.message).error from error
            cut = encoded[:limit].decode("utf-8", "ignore")
            return await self._embed_batch([cut], role, backoff)

    async def _request(self, texts: Sequence[str], role: Role, backoff: Backoff) -> list[Vector]:
        body = self._body(texts, role)

        async def post() -> list[Vector]:
            async with self._gate:
                response = await self._client.post(self._vendor.url, json=body)
            if not response.is_success:
                raise _Refused(response)
            return self._read(response, texts)

        return await call(self._vendor.name, post, self._translate, backoff=backoff)

    def _read(self, response: httpx.Response, texts: Sequence[str]) -> list[Vector]:
        try:
            answer = self._answer(_json_object(response.content))
            vectors = [np.asarray(vector, dtype=np.float32) for vector in answer.vectors]
            if any(vector.ndim != 1 for vector in vectors):
                raise ValueError("a vector is not a list of numbers")
        except (KeyError, TypeError, ValueError) as error:
            raise _Malformed(error) from error
        if len(vectors) != len(texts):
            raise _Malformed(f"{len(vectors)} vectors for {len(texts)} texts")
        self._count(texts, answer.tokens)
        return [self._checked(vector) for vector in vectors]

    def _checked(self, vector: Vector) -> Vector:
        expected = self._fingerprint.dimension
        if len(vector) != expected:
            raise ConfigurationError(
                f"{self._vendor.name}'s model {self._fingerprint.name} gives vectors of dimension "
                f"{len(vector)}, but {expected} is expected.",
                f"Set {self._vendor.model_variable} to a model of that dimension"
                f"{self._dimension_hint(len(vector))}.",
            )
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0.0:
            raise _Malformed("a vector is zero or not finite")
        return np.ascontiguousarray(vector / length, dtype=np.float32)

    def _dimension_hint(self, found: int) -> str:  # noqa: ARG002  # for vendors with such a setting
        return ""

    def _count(self, texts: Sequence[str], billed: int | None) -> None:
        tokens = billed if billed is not None else sum(self.count_tokens(texts))
        total = self._usage.tokens + tokens
        price = self._vendor.usd_per_million_tokens
        self._usage = replace(
            self._usage,
            requests=self._usage.requests + 1,
            texts=self._usage.texts + len(texts),
            tokens=total,
            cost_usd=None if price is None else round(total * price / 1_000_000, 6),
        )
        log.debug("embedded", embedder=self._fingerprint.name, texts=len(texts), tokens=tokens)

    def _translate(self, error: Exception) -> Failure | None:
        name = self._vendor.name
        match error:
            case _Refused():
                return self._refused(error.response)
            case _Malformed():
                # Gateways answer half a body now and then; the same call may get a whole one.
                return Failure(
                    ServiceUnavailable(
                        f"{name} answered something that is no embedding: {error}.",
                        "Try again; if it stays, check the address of the API.",
                    ),
                    transient=True,
                )
            case httpx.TimeoutException():
                return Failure(self._away("did not answer in time"), transient=True)
            case httpx.TransportError():
                reason = str(error) or type(error).__name__
                return Failure(self._away(f"cannot be reached: {reason}"), transient=True)
            case _:
                return None

    def _refused(self, response: httpx.Response) -> Failure:
        name, status = self._vendor.name, response.status_code
        said, code = _reason(response)
        said = said.replace(self._vendor.api_key.get_secret_value(), "********")
        if status in (401, 403, 498):
            # What vendors say here repeats part of the key.
            return Failure(
                ConfigurationError(
                    f"{name} refused the key (status {status}).",
                    f"Set {self._vendor.key_variable} to a valid key.",
                )
            )
        if code == "insufficient_quota":
            return Failure(
                ServiceUnavailable(
                    f"The {name} account has no quota left.", "Check its plan and billing."
                )
            )
        if status == 429:
            pause = _retry_after(response)
            busy = EmbedderBusy(
                f"{name} limits the rate: {said}.",
                "Wait a moment and run the same command again; what is embedded is kept.",
                retry_after=pause,
            )
            return Failure(busy, transient=True, retry_after=pause)
        if status in _TRANSIENT_STATUSES:
            away = self._away(f"answered {status}: {said}")
            return Failure(away, transient=True, retry_after=_retry_after(response))
        if status in (400, 413, 422) and _is_about_length(said):
            return Failure(_TooLong(said))
        return self._unusable(status, said)

    def _unusable(self, status: int, said: str) -> Failure:
        return Failure(
            ConfigurationError(
                f"{self._vendor.name} refused the request (status {status}): {said}.",
                f"Check {self._vendor.model_variable} (now {self._fingerprint.name}) "
                "and the address of the API.",
            )
        )

    def _away(self, what: str) -> ServiceUnavailable:
        return ServiceUnavailable(
            f"{self._vendor.name} {what}.", "Check the network and the vendor's status; try again."
        )


class _Refused(Exception):
    def __init__(self, response: httpx.Response) -> None:
        super().__init__(str(response.status_code))
        self.response = response


class _Malformed(Exception):
    pass


class _TooLong(AskbookError):
    pass


def need_key(key: SecretStr | None, variable: str, embedder: str) -> SecretStr:
    """The key, or the error that says which variable is missing."""
    if key is None or not key.get_secret_value().strip():
        raise ConfigurationError(
            f"ASKBOOK_EMBEDDER is {embedder}, but {variable} is not set.",
            f"Set {variable}, or ASKBOOK_EMBEDDER=builtin, which needs no key.",
        )
    return key


def _batches(fitted: Sequence[tuple[str, int]], limits: Limits) -> Iterator[list[tuple[str, int]]]:
    batch: list[tuple[str, int]] = []
    tokens = 0
    for item in fitted:
        if batch and (len(batch) >= limits.texts or tokens + item[1] > limits.tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(item)
        tokens += item[1]
    if batch:
        yield batch


def _json_object(content: bytes) -> dict[str, Any]:
    body: Any = json.loads(content)
    if not isinstance(body, dict):
        raise TypeError("the body is not an object")
    return cast(dict[str, Any], body)


def _reason(response: httpx.Response) -> tuple[str, str]:
    """What an error body says, and its code; vendors put both at `error` or at the top."""
    try:
        body = _json_object(response.content)
    except (TypeError, ValueError):
        return response.reason_phrase or "no reason given", ""
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return str(inner)[:300], ""
    inner = cast(dict[str, Any], inner)
    said = str(inner.get("message") or response.reason_phrase)[:300].strip().rstrip(".")
    return said, str(inner.get("code") or inner.get("type") or "")


def _retry_after(response: httpx.Response) -> float | None:
    for header, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(response.headers[header]) * scale)
        except (KeyError, ValueError):
            continue
    return None


def _is_about_length(said: str) -> bool:
    words = said.lower()
    return any(w in words for w in ("maximum context length", "too long", "too many tokens"))
