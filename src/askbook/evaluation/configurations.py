"""Named ways to search, so that two of them can be compared over the same index and questions."""

from dataclasses import dataclass

from askbook.bootstrap import Askbook
from askbook.errors import InvalidInput
from askbook.evaluation.remembering import Remembered, RememberingEmbedder, RememberingJudge
from askbook.retrieval.query import SearchMode
from askbook.retrieval.search import Searcher, SearchWeights

DEFAULT = "hybrid"
WHOLE_DOCUMENTS = "bm25_documents"
"""Not a way our product searches: textbook BM25 over whole documents, which proves the harness right."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A way to search; absent weights are the settings' own."""

    name: str
    mode: SearchMode
    judged: bool = False
    weights: SearchWeights | None = None


CONFIGURATIONS = {
    each.name: each
    for each in (
        Configuration(DEFAULT, "hybrid", judged=True),
        Configuration("fused", "hybrid"),
        Configuration(
            "rrf11", "hybrid", weights=SearchWeights(1.0, 1.0, followed=1.0, by_rank=True)
        ),
        Configuration("dense", "dense"),
        Configuration("sparse", "sparse"),
    )
}


def configuration(name: str) -> Configuration:
    if name not in CONFIGURATIONS:
        known = ", ".join((*CONFIGURATIONS, WHOLE_DOCUMENTS))
        raise InvalidInput(f"There is no configuration {name!r}.", f"Known ones: {known}.")
    return CONFIGURATIONS[name]


class Searchers:
    """One searcher per configuration over one index; nothing is embedded or judged twice for a question, unless
    the searches are to be made `afresh`, as a reader's are."""

    def __init__(
        self, askbook: Askbook, remembered: Remembered | None = None, *, afresh: bool = False
    ) -> None:
        self._askbook = askbook
        remembered, judge = remembered or Remembered(), askbook.judge
        self._embedder = RememberingEmbedder(askbook.embedder, remembered, afresh=afresh)
        self.judge = None if judge is None else RememberingJudge(judge, remembered, afresh=afresh)
        self._made: dict[str, Searcher] = {}

    def of(self, chosen: Configuration) -> Searcher:
        if chosen.name not in self._made:
            settings = self._askbook.settings.retrieval
            self._made[chosen.name] = Searcher(
                self._askbook.library,
                self._askbook.index,
                self._embedder,
                self.judge if chosen.judged else None,
                chosen.weights or SearchWeights(settings.dense_weight, settings.sparse_weight),
                calibrations=self._askbook.calibrations,
            )
        return self._made[chosen.name]
