"""One database (SQLite or PostgreSQL) for what is visible: books, lessons, chunks, vectors, jobs."""
