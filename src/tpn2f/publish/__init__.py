"""What is published: the tables of the pages, the rows of the paper, and the bundled models."""
