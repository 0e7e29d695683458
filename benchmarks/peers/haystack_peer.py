"""Haystack: its Markdown converter and document splitter; in-memory store, embedding and BM25 retrievers joined."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# It runs in the peer's environment, whose packages are not installed in ours.

from common import run
from haystack import Document
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore


class Peer:
    def __init__(self, embedder, docs):
        self.embedder, self.docs = embedder, docs
        self.store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        self.dense = InMemoryEmbeddingRetriever(self.store)
        self.words = InMemoryBM25Retriever(self.store)
        self.joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion")

    def ingest(self, files):
        pages = [
            Document(
                content=file.read_text(encoding="utf-8"),
                meta={"page": file.relative_to(self.docs).as_posix()},
            )
            for file in files
        ]
        splitter = DocumentSplitter(split_by="word", split_length=220, split_overlap=20)
        splitter.warm_up()
        chunks = splitter.run(documents=pages)["documents"]
        vectors = self.embedder.passages([chunk.content or "" for chunk in chunks])
        for chunk, vector in zip(chunks, vectors, strict=True):
            chunk.embedding = vector
        self.store.write_documents(chunks)

    def search(self, question, k):
        dense = self.dense.run(query_embedding=self.embedder.query(question), top_k=k)["documents"]
        words = self.words.run(query=question, top_k=k)["documents"]
        joined = self.joiner.run(documents=[dense, words], top_k=k)["documents"]
        return [document.meta["page"] for document in joined]


run(Peer)
