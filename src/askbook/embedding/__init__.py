"""Embedders: texts to vectors, one file per vendor behind one protocol."""

from askbook.embedding.base import Embedder, Fingerprint

__all__ = ["Embedder", "Fingerprint"]
