"""Whether services that answer over HTTP do: the language model's server, and our own."""

from typing import Any, cast

from askbook.config import Settings
from askbook.errors import ConfigurationError, ServiceUnavailable

OPENAI = "https://api.openai.com/v1"
PATIENCE = 5.0
"""Seconds a service gets to answer a check."""


async def model_finding(settings: Settings) -> str:
    """The model's server must answer, take the key and know the model."""
    import httpx

    openai, name = settings.openai, settings.model.openai_model
    if openai.openai_api_key is None and openai.openai_base_url is None:
        return "none (OPENAI_API_KEY, OPENAI_BASE_URL): answers are quoted from the book"
    address = openai.openai_base_url or OPENAI
    key = openai.openai_api_key
    headers = {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}
    try:
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            response = await http.get(f"{address}/models", headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ServiceUnavailable(
            f"{address} does not answer: {error or type(error).__name__}.",
            "Start the model's server, or correct OPENAI_BASE_URL.",
        ) from error
    if response.status_code in (401, 403):
        raise ConfigurationError(
            f"{address} refuses the key ({response.status_code}).", "Correct OPENAI_API_KEY."
        )
    if response.status_code >= 500:
        raise ServiceUnavailable(
            f"{address} answers {response.status_code}.", "Look into the log of the model's server."
        )
    known = _models(response)
    if known and name not in known:
        raise ConfigurationError(
            f"{address} has no model {name!r}.",
            f"Set OPENAI_MODEL to one of: {', '.join(known[:10])}.",
        )
    return f"{name} at {address}"


async def limits_finding(settings: Settings) -> str:
    """The Valkey or Redis that processes count requests in, where one is set, must answer."""
    url = settings.access.redis_url
    if url is None:
        return "counted in each process (ASKBOOK_REDIS_URL)"
    try:
        from redis.asyncio import Redis
        from redis.exceptions import RedisError
    except ImportError as error:
        raise ConfigurationError(
            "ASKBOOK_REDIS_URL is set, but the package redis is not installed.",
            "Install it with `pip install 'askbook[server]'`.",
        ) from error
    from askbook.access.limits import client_url

    # Its options have no types.
    client = cast(Any, Redis).from_url(
        client_url(url.get_secret_value()), socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
    )
    try:
        await client.ping()
    except (RedisError, OSError) as error:
        raise ServiceUnavailable(
            f"The store for limits does not answer: {error or type(error).__name__}.",
            "Start Valkey or Redis, or correct ASKBOOK_REDIS_URL; until then each process counts alone.",
        ) from error
    finally:
        await client.aclose()
    return "counted together, on the server that ASKBOOK_REDIS_URL names"


async def served_checks(address: str) -> list[dict[str, Any]]:
    """What the server that holds the data directory finds of its parts."""
    import httpx

    try:
        async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
            body: Any = (await http.get(f"{address}/ready")).json()
        return [
            {name: found.get(name) for name in ("part", "ok", "finding", "fix")}
            | {"exit_code": 0 if found["ok"] else ServiceUnavailable.exit_code}
            for found in body["checks"]
        ]
    except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError) as error:
        failed = {
            "part": "server",
            "ok": False,
            "finding": f"{address} does not answer: {error or type(error).__name__}.",
            "fix": "Look into its log, and start it again.",
            "exit_code": ServiceUnavailable.exit_code,
        }
        return [failed]


def _models(response: Any) -> list[str]:
    """The models a server lists; not every server does."""
    try:
        return [str(model["id"]) for model in response.json()["data"]]
    except (ValueError, KeyError, TypeError):
        return []
