"""A server that speaks Cohere's `POST /v2/embed`, refusals and faults included."""

from typing import Any

from fastapi import Response
from fastapi.responses import JSONResponse

from openai_server import OpenAIServer
from wire_vectors import vector_of

KEY = "cohere-test-key"
DIMENSIONS = {"embed-english-v3.0": 1024, "embed-english-light-v3.0": 384}
FIELDS = {"model", "texts", "input_type", "embedding_types", "truncate", "output_dimension"}


class CohereServer(OpenAIServer):
    """A running server with the same faults on demand."""

    path = "/v2/embed"

    def __init__(self) -> None:
        super().__init__()
        self.key = KEY

    @property
    def url(self) -> str:
        return self.http.url

    def refusal(
        self, status: int, message: str, code: str = "", headers: dict[str, str] | None = None
    ) -> Response:
        return JSONResponse({"message": message}, status, headers)

    def answer(self, body: dict[str, Any]) -> Response:
        unknown, texts = set(body) - FIELDS, body.get("texts")
        if unknown or not isinstance(texts, list) or not 0 < len(texts) <= 96:
            return self.refusal(400, f"invalid request: {sorted(unknown)}")
        if any(not text for text in texts):
            return self.refusal(400, "invalid request: texts must not be empty")
        if body["model"] not in DIMENSIONS:
            return self.refusal(404, f"model '{body['model']}' not found")
        if body.get("input_type") not in ("search_query", "search_document"):
            return self.refusal(400, "invalid request: valid input_type must be provided")
        dimension = DIMENSIONS[body["model"]]
        vectors = [vector_of(text, dimension, body["input_type"]).tolist() for text in texts]
        tokens = sum(len(text.split()) for text in texts)
        return JSONResponse(
            {
                "id": "e7a1",
                "embeddings": {"float": vectors},
                "texts": texts,
                "meta": {
                    "api_version": {"version": "2"},
                    "billed_units": {"input_tokens": tokens},
                },
            }
        )
