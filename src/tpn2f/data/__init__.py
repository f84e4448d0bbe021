"""Data sets: where they come from, how they are fetched, and what is wrong with them."""
