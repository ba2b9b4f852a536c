# Every verb does its own set-up: all it needs is python3 with pip, and a package registry.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help serve test test-all check format bench docs lock clean

PYTHON ?= python3
BIN := .venv/bin
PIP := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check
INSTALL := $(PIP) install --quiet --require-hashes --only-binary :all: --requirement
PYTEST := $(BIN)/pytest --numprocesses auto --dist worksteal

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

serve: .venv/runtime.stamp ## run the server (http://localhost:8420); ARGS="--port 9000" adds options
	$(BIN)/rememberd serve $(ARGS)

test: .venv/dev.stamp ## run the tests that take minutes at most; ARGS="-k name" adds options
	$(PYTEST) -m "not slow" $(ARGS)

test-all: test ## run every test: also crash campaigns, conformance, real clients, packaging
	-$(BIN)/python -m tests.clients.node
	$(PYTEST) -m slow $(ARGS)

check: .venv/dev.stamp ## format, lint, types, layers; changes nothing
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/lint-imports --no-logo
	$(BIN)/basedpyright

format: .venv/dev.stamp ## format the code and fix what can be fixed safely
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format --quiet

bench: .venv/dev.stamp ## measure retrieval, latency and load
	$(BIN)/python -m bench $(ARGS)

docs: .venv/dev.stamp ## write docs/reference again from the code
	$(BIN)/python docs/generate.py

lock: .venv/dev.stamp ## pin the newest dependencies that pyproject.toml allows, with hashes
	$(BIN)/uv pip compile $(LOCK) pyproject.toml --output-file requirements/runtime.txt
	$(BIN)/uv pip compile $(LOCK) pyproject.toml --extra static --group dev \
		--constraints requirements/runtime.txt --output-file requirements/dev.txt
	$(BIN)/uv pip compile $(LOCK) --group build \
		--constraints requirements/dev.txt --output-file requirements/build.txt

LOCK := --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

clean: ## remove the environment and every cache; data is never touched
	rm -rf .venv .cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist reports
	find . -name __pycache__ -prune -exec rm -rf {} +

# Without ensurepip, which Debian packages apart: the system's pip installs into the environment.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.x")'
	$(PYTHON) -m venv --without-pip .venv

.venv/runtime.stamp: requirements/runtime.txt requirements/build.txt pyproject.toml | .venv/bin/python
	$(INSTALL) requirements/runtime.txt --requirement requirements/build.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/runtime.stamp
	$(INSTALL) requirements/dev.txt
	@touch $@
