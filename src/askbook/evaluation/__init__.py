"""Evaluation: runs question sets against a book through the real parts, and turns the outcome into numbers."""
