# The commands of the README. Everything runs in .venv, which is built on first use and again when what it holds changes.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

# A question may hold quotes, so it travels in the environment and not through the command line.
export QUESTION

.DEFAULT_GOAL := help
.PHONY: help install demo test slow browser check docs pictures bench clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

install: $(INSTALLED) ## build .venv with the pinned versions

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@echo "building .venv with pinned versions; torch makes it a matter of minutes ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: $(INSTALLED) ## see it work, in a minute; QUESTION="..." adds one of yours
	@$(BIN)/tpn2f demo $(if $(QUESTION),"$$QUESTION")

test: $(INSTALLED) ## run the tests
	$(BIN)/pytest -n 2 --dist worksteal --ignore tests/browser -m "not slow"

slow: $(INSTALLED) ## run the tests that check more of what the others check, for longer
	$(BIN)/pytest -n 2 --dist worksteal --ignore tests/browser -m slow

browser: $(INSTALLED) ## test the explorer in a real Chromium, which has to be there
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[browser]"
	$(BIN)/pytest tests/browser

check: $(INSTALLED) ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

docs: $(INSTALLED) ## build the documentation into site/; a warning is an error
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

pictures: $(INSTALLED) ## take the pictures of the explorer for README and docs; needs Chromium
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[browser]"
	$(BIN)/python scripts/screenshots.py

bench: $(INSTALLED) ## run the benchmarks, one after another
	@set -e; for name in training decoding options attention_study encoder_start scaling interpreter learning resume processes serving examples; do \
	    echo "== $$name"; $(BIN)/python benchmarks/$$name.py; done
	@echo "== fuzz_checkpoints"; $(BIN)/python benchmarks/fuzz_checkpoints.py
	@set -e; for language in mathqa algolisp; do echo "== fuzz $$language"; $(BIN)/python benchmarks/fuzz.py $$language; done
	@$(BIN)/tpn2f results

clean: ## remove .venv and what tools leave behind
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
