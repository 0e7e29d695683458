"""What every embedder must do. An adapter's test class inherits this and says how to make one."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio

from askbook.embedding import Embedder

TEXTS = (
    "Nodes exchange messages over topics.",
    "A fixed joint holds two links together.",
    "Bread dough rises because yeast turns sugar into carbon dioxide.",
    "x",
    "Größenänderung: 3 × 4 = 12 ✓ 日本語",
    "```python\nprint('hello')\n```",
)


class EmbedderContract(ABC):
    """Inherit it and define `make`; every call gives a new instance of the same embedder."""

    @abstractmethod
    def make(self) -> Embedder: ...

    @pytest_asyncio.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        embedder = self.make()
        yield embedder
        await embedder.close()

    async def test_fingerprint_names_the_embedder_and_does_not_change(
        self, embedder: Embedder
    ) -> None:
        before = embedder.fingerprint
        await embedder.embed_query("anything")
        assert embedder.fingerprint == before == self.make().fingerprint
        assert before.name
        assert before.revision
        assert before.name in str(before)
        assert str(before.dimension) in str(before)
        assert before.revision in str(before)

    async def test_vectors_are_normalised_and_of_the_stated_dimension(
        self, embedder: Embedder
    ) -> None:
        vectors = [await embedder.embed_query(TEXTS[0]), *await embedder.embed_passages(TEXTS)]
        for vector in vectors:
            assert vector.dtype == np.float32
            assert vector.shape == (embedder.fingerprint.dimension,)
            assert np.isfinite(vector).all()
            assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-3)

    async def test_one_vector_per_text_in_order(self, embedder: Embedder) -> None:
        together = await embedder.embed_passages(TEXTS)
        backwards = await embedder.embed_passages(TEXTS[::-1])
        assert len(together) == len(TEXTS)
        for one, other in zip(together, reversed(backwards), strict=True):
            np.testing.assert_array_equal(one, other)

    async def test_the_same_text_always_has_the_identical_vector(self, embedder: Embedder) -> None:
        """Alone or among others, at once or later, from this instance or another one."""
        [alone] = await embedder.embed_passages([TEXTS[0]])
        among = (await embedder.embed_passages([*TEXTS[1:], TEXTS[0]]))[-1]
        at_once = await asyncio.gather(*(embedder.embed_passages([TEXTS[0]]) for _ in range(8)))
        other = self.make()
        [elsewhere] = await other.embed_passages([TEXTS[0]])
        await other.close()
        for vector in (among, elsewhere, *(found[0] for found in at_once)):
            np.testing.assert_array_equal(vector, alone)

    async def test_the_same_query_always_has_the_identical_vector(self, embedder: Embedder) -> None:
        one = await embedder.embed_query(TEXTS[0])
        others = await asyncio.gather(*(embedder.embed_query(TEXTS[0]) for _ in range(8)))
        for other in others:
            np.testing.assert_array_equal(other, one)

    async def test_a_query_is_not_embedded_as_a_passage(self, embedder: Embedder) -> None:
        fingerprint = embedder.fingerprint
        query = await embedder.embed_query(TEXTS[0])
        [passage] = await embedder.embed_passages([TEXTS[0]])
        assert np.array_equal(query, passage) == (
            fingerprint.query_prefix == fingerprint.passage_prefix
        )
        prefixed = fingerprint.query_prefix + TEXTS[0]
        if not fingerprint.passage_prefix:
            [same] = await embedder.embed_passages([prefixed])
            np.testing.assert_array_equal(query, same)

    async def test_what_belongs_together_lies_together(self, embedder: Embedder) -> None:
        query = await embedder.embed_query("How do nodes talk to each other?")
        vectors = await embedder.embed_passages(TEXTS[:3])
        cosines = [float(query @ vector) for vector in vectors]
        assert max(cosines) == cosines[0]

    async def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        assert await embedder.embed_passages([]) == []
        assert embedder.count_tokens([]) == []

    async def test_an_empty_text_has_a_vector_too(self, embedder: Embedder) -> None:
        [vector] = await embedder.embed_passages([""])
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-3)

    async def test_a_very_long_text_is_cut_not_refused(self, embedder: Embedder) -> None:
        long = "The robot moves its arm and then its gripper. " * 3000
        [vector] = await embedder.embed_passages([long])
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-3)
        [longer] = await embedder.embed_passages([long + "Something else entirely."])
        np.testing.assert_array_equal(vector, longer)

    def test_counts_tokens_of_each_text(self) -> None:
        embedder = self.make()
        counts = embedder.count_tokens(TEXTS)
        assert len(counts) == len(TEXTS)
        assert all(count >= 1 for count in counts)
        assert embedder.count_tokens([""]) == [0]
        one, two, long = embedder.count_tokens(["robot", "robot robot", "robot " * 2000])
        assert one < two < long
        assert long >= 2000
