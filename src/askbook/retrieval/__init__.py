"""From a question to the chunks that answer it, and how far to trust them."""
