"""Answerers: from retrieved chunks to sentences with citations."""
