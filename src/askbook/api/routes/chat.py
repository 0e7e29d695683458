"""`POST /chat/run`: a question in, a cited answer or a refusal out."""

import uuid

from fastapi import APIRouter

from askbook.api.dependencies import Running
from askbook.api.schemas import ChatRequest, ChatResponse

router = APIRouter(tags=["chat"])


@router.post("/chat/run")
async def run_chat(request: ChatRequest, askbook: Running) -> ChatResponse:
    """Answer a question from the book."""
    answer = await askbook.ask(request.message, request.scope, top_k=request.top_k)
    return ChatResponse.of(answer, request.session_id or str(uuid.uuid4()))
