"""LlamaIndex: Markdown node parser, then sentence splitter; vector index and BM25 joined by a fusion retriever."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# It runs in the peer's environment, whose packages are not installed in ours.

from common import run
from llama_index.core import Settings, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.retrievers.bm25 import BM25Retriever


class Shared(BaseEmbedding):
    _embedder = None

    def _get_text_embeddings(self, texts):
        return self._embedder.passages(texts)

    def _get_text_embedding(self, text):
        return self._embedder.passages([text])[0]

    def _get_query_embedding(self, query):
        return self._embedder.query(query)

    async def _aget_query_embedding(self, query):
        return self._embedder.query(query)


class Peer:
    def __init__(self, embedder, docs):
        self.docs = docs
        self.model = Shared(embed_batch_size=64)
        self.model._embedder = embedder
        Settings.embed_model = self.model
        Settings.llm = MockLLM()

    def ingest(self, files):
        documents = SimpleDirectoryReader(input_files=[str(f) for f in files]).load_data()
        for document in documents:
            page = document.metadata["file_path"]
            document.metadata["page"] = page.removeprefix(f"{self.docs}/")
        parsers = [MarkdownNodeParser(), SentenceSplitter(chunk_size=400, chunk_overlap=40)]
        self.nodes = IngestionPipeline(transformations=[*parsers, self.model]).run(
            documents=documents
        )
        self.index = VectorStoreIndex(self.nodes)
        self.words = BM25Retriever.from_defaults(nodes=self.nodes, similarity_top_k=40)

    def search(self, question, k):
        both = QueryFusionRetriever(
            [self.index.as_retriever(similarity_top_k=k), self.words],
            similarity_top_k=k,
            num_queries=1,
            mode="reciprocal_rerank",
            use_async=False,
        )
        return [found.node.metadata["page"] for found in both.retrieve(question)]


run(Peer)
