# One verb per target; continuous integration runs exactly these.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
# Two workers suit two cores; WORKERS=0 runs the tests in one process.
WORKERS ?= 2
PYTEST_ARGS ?=
UV_VERSION := 0.13.8

.DEFAULT_GOAL := help
.PHONY: help setup run logs page screenshots vendor deploy lock test lint format bench engines clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv with the pinned tools and this package, if its inputs changed.

$(STAMP): requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dynajobs needs Python 3.11 or newer, and $(PYTHON) is not one: set PYTHON, as in 'make setup PYTHON=python3.12'." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@if $(BIN)/python -m pip install --quiet uv==$(UV_VERSION); then \
	  installer="$(BIN)/uv pip install --quiet --python $(BIN)/python"; \
	else \
	  echo "uv could not be installed; pip does its work, more slowly." >&2; \
	  installer="$(BIN)/python -m pip install --quiet"; \
	fi; \
	$$installer -r requirements-dev.txt && $$installer --no-deps --editable .
	@touch $@

run: setup ## Run the whole stack on this machine, with no AWS account (PORT=…; KEEP=1 keeps its jobs).
	@$(BIN)/python -m tools.local $(if $(PORT),--port $(PORT)) $(if $(KEEP),--keep) $(if $(LOCAL_HOME),--home $(LOCAL_HOME))

logs: setup ## Follow what the functions of the running stack say.
	@$(BIN)/python -m tools.local.logs

page: setup engines ## Show the operators' page with made-up jobs, for working on it (PORT=…).
	@$(BIN)/python -m tools.page $(if $(PORT),--port $(PORT))

screenshots: setup engines ## Take the documentation's pictures of the page anew (needs chromium).
	@$(BIN)/python -m tools.screenshots

vendor: setup ## Make the page's library file from npm; only to move to newer versions.
	@$(BIN)/python -m tools.vendor

deploy: setup ## Build the stack and deploy it to AWS; the first time asks what it needs to know.
	@$(BIN)/python -m tools.deploy

lock: $(STAMP) ## Pin the newest versions that requirements-dev.in and pyproject.toml allow.
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra cli --no-emit-index-url \
	  --custom-compile-command "make lock" --output-file requirements-dev.txt requirements-dev.in pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header \
	  --no-emit-package boto3 --no-emit-package botocore --no-emit-package s3transfer \
	  --constraints requirements-dev.txt --output-file layers/dynajobs/requirements.txt pyproject.toml
	for tool in sam ministack; do \
	  $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-emit-index-url \
	    --custom-compile-command "make lock" --output-file tools/local/requirements-$$tool.txt tools/local/requirements-$$tool.in || exit 1; \
	done

test: setup engines ## Run every test, on every DynamoDB engine this machine can start.
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(PYTEST_ARGS)

lint: setup ## Check style, formatting, types and the template.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/cfn-lint template.yaml

format: setup ## Rewrite the Python files in the project's style.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup engines ## Measure throughput and latency against the local engines.
	$(BIN)/python -m bench

engines: setup ## Fetch the DynamoDB engines the tests run against, and axe, if this machine can run them.
	@$(BIN)/python -m tests.support.fetch_engines

clean: ## Remove everything that make and the tools created.
	rm -rf $(VENV) .local .aws-sam build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf layers/dynajobs/dynajobs.egg-info
