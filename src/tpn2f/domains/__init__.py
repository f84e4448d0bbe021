"""The built-in domains; each is loaded by its entry point only."""
