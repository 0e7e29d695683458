"""LangChain: header splitter, then recursive splitter; vector store and BM25 joined by an ensemble retriever."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# It runs in the peer's environment, whose packages are not installed in ours.

from common import TARGET, run
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.document_loaders import TextLoader
from langchain_community.retrievers import BM25Retriever
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter


class Shared(Embeddings):
    def __init__(self, embedder):
        self.embedder = embedder

    def embed_documents(self, texts):
        return self.embedder.passages(texts)

    def embed_query(self, text):
        return self.embedder.query(text)


class Peer:
    def __init__(self, embedder, docs):
        self.docs = docs
        self.store = InMemoryVectorStore(Shared(embedder))

    def ingest(self, files):
        headers = MarkdownHeaderTextSplitter(
            [("#", "h1"), ("##", "h2"), ("###", "h3")], strip_headers=False
        )
        sizes = RecursiveCharacterTextSplitter(chunk_size=TARGET, chunk_overlap=TARGET // 10)
        chunks = []
        for file in files:
            for document in TextLoader(str(file), encoding="utf-8").load():
                for section in headers.split_text(document.page_content):
                    section.metadata["page"] = file.relative_to(self.docs).as_posix()
                    chunks.append(section)
        chunks = sizes.split_documents(chunks)
        self.store.add_documents(chunks)
        self.words = BM25Retriever.from_documents(chunks)

    def search(self, question, k):
        self.words.k = k
        dense = self.store.as_retriever(search_kwargs={"k": k})
        both = EnsembleRetriever(retrievers=[self.words, dense], weights=[0.5, 0.5])
        return [document.metadata["page"] for document in both.invoke(question)]


run(Peer)
