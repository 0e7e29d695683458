"""Document 001: what a retrieved result tells of itself. The tool and the dialogue come with the agent."""

import httpx
import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("sample")]


@pytest.mark.spec("B61")
async def test_a_result_carries_all_that_a_citation_needs(client: httpx.AsyncClient) -> None:
    body = {"text": "Which stop categories may an emergency stop have?", "limit": 5}
    results = (await client.post("/search", json=body)).json()["results"]
    assert [result["rank"] for result in results] == [1, 2, 3, 4, 5]
    best = results[0]
    assert "category 0 or 1" in best["text"]
    assert best["page_title"] == "Perceive, Plan, Act: the Loop and Its Safety"
    assert best["section_title"] == "Emergency stops and stop categories"
    assert best["breadcrumb"].startswith("Foundations")
    assert "perceive-plan-act" in best["url"]
    assert best["url"].endswith("#stop-categories")
    for result in results:
        assert 0.0 <= result["score"] <= 1.0
        assert 0 <= result["chunk_index"] < result["total_chunks"]
        assert result["text"]
        assert result["page_title"]
        assert result["url"]
