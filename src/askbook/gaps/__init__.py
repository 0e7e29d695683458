"""What readers ask and the book does not answer: cleaned, kept, and grouped for its author."""
