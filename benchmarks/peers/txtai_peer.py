"""txtai: paragraphs gathered to size; one hybrid index with external vectors."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# It runs in the peer's environment, whose packages are not installed in ours.

import numpy as np
from common import TARGET, run
from txtai import Embeddings


class Peer:
    def __init__(self, embedder, docs):
        self.embedder, self.docs = embedder, docs
        self.asking = False

        # txtai asks a function for its arguments and miscounts those of a method.
        def vectors(texts):
            return self._vectors(texts)

        self.index = Embeddings(method="external", transform=vectors, hybrid=True, content=False)

    def ingest(self, files):
        self.pages = []
        chunks = []
        for file in files:
            for chunk in _gathered(file.read_text(encoding="utf-8")):
                self.pages.append(file.relative_to(self.docs).as_posix())
                chunks.append(chunk)
        self.index.index(enumerate(chunks))

    def search(self, question, k):
        self.asking = True
        return [self.pages[number] for number, _ in self.index.search(question, k)]

    def _vectors(self, texts):
        if self.asking:
            return np.array([self.embedder.query(text) for text in texts], np.float32)
        return np.array(self.embedder.passages(list(texts)), np.float32)


def _gathered(text):
    """Whole paragraphs up to the target size."""
    chunk = ""
    for paragraph in text.split("\n\n"):
        if chunk and len(chunk) + len(paragraph) > TARGET:
            yield chunk
            chunk = ""
        chunk += paragraph + "\n\n"
    if chunk.strip():
        yield chunk


run(Peer)
