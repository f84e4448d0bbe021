"""Whether an answer can be trusted: what is remembered, what speaks for and against it, and how sure that makes it."""
