# Everything here sets itself up: a virtual environment in .venv, and for tests the tools that they compare
# us with, in a cache outside the repository. Nothing is done twice unless what it depends on has changed.
#
#   make demo   the whole story in under a minute        make regen  write crds/, base/, overlays/ again
#   make test   in minutes; PYTEST_ARGS="-k render"      make bench  measure, against the real kustomize too
#   make lint   style, types, layering                   make tools  install kustomize and third-party CRDs
#   make race   32 writers on one Git server, minutes    make e2e    the whole loop on real engines; root, Linux
#   make clean  remove .venv and caches of this folder   make simulate  a million schedules of faults, an hour
#   make test-slow  what takes longer: real servers      make bench-pass  1,000 units in 5 s, real Prometheus
#
# PYTHON=/path/to/python chooses the interpreter for a new .venv; without it scripts/find-python does.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
NO_PIP := (echo "pip could not install the dependencies; its reason stands above. Is a package registry in reach?" >&2; exit 1)

.PHONY: demo test test-slow lint format regen bench bench-smoke bench-pass race simulate e2e test-pythons tools coverage clean help
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help:
	@sed -n '4,9s/^# *//p' Makefile

demo: $(VENV)/.runtime
	@$(BIN)/gati-gitops demo

test: $(VENV)/.dev
	@$(BIN)/python scripts/tools.py --optional
	$(BIN)/python -m pytest -q -n auto -m "not slow" $(PYTEST_ARGS)

# What takes minutes: a real API server, Prometheus, Gitea and browser, the documents' commands, many examples.
test-slow: $(VENV)/.dev
	@$(BIN)/python scripts/tools.py --optional
	$(BIN)/python -m pytest -q -n auto --maxschedchunk 1 -m slow --ignore tests/e2e $(PYTEST_ARGS)

coverage: PYTEST_ARGS += --cov
coverage: test

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict gati_gitops scripts
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

regen: $(VENV)/.runtime
	$(BIN)/python scripts/regen.py

bench: $(VENV)/.dev tools
	@set -e; for file in $(or $(wildcard bench/run.py),$(sort $(wildcard bench/*.py))); do \
		echo "$(BIN)/python $$file"; $(BIN)/python $$file $(BENCH_ARGS); done

# The same programs on small numbers: proves that they run, measures nothing.
bench-smoke: BENCH_ARGS += --smoke
bench-smoke: bench

# A pass of the job over 1,000 units, on a real Prometheus and on a recording, held against 5 s on the clock.
bench-pass: $(VENV)/.dev
	@$(BIN)/python scripts/tools.py prometheus
	$(BIN)/python bench/one_pass.py $(BENCH_ARGS)
	$(BIN)/python bench/reconcile.py $(BENCH_ARGS)

# Writers, a person and an operator on one branch over http and ssh; RACE_ARGS="--writers 8 --commits 10 ssh".
race: $(VENV)/.dev
	@$(BIN)/python scripts/tools.py nginx fcgiwrap sshd
	@$(BIN)/python -m tests.race $(RACE_ARGS)

# The job's judgement in a world of seeded faults; SIMULATE_ARGS="--schedules 50000", or "--mutate".
simulate: $(VENV)/.dev
	@$(BIN)/python -m tests.simulator $(SIMULATE_ARGS)

# etcd, Kubernetes, Argo CD, Flux, Traefik and Prometheus on loopback: docs/e2e.md. The first run builds
# them, in half an hour. Two stories at a time, each in a world of its own. E2E_ARGS="-k flux".
e2e: $(VENV)/.dev
	@$(BIN)/python scripts/tools.py
	@$(BIN)/python scripts/tools.py engines
	GATI_REQUIRE_TOOLS=1 GATI_REQUIRE_ENGINES=1 $(BIN)/python -m pytest -q -rA -n 2 --maxschedchunk 1 tests/e2e $(E2E_ARGS)

# The same bytes on every Python: tests/stable under 3.11, 3.12 and 3.13.
test-pythons:
	@python=$$(scripts/find-python) && $$python scripts/test_pythons.py

tools:
	@python=$$(scripts/find-python) && $$python scripts/tools.py

clean:
	rm -rf $(VENV) build dist htmlcov .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@python=$$(scripts/find-python) && echo "setup: $(VENV) with $$python" && $$python -m venv --clear $(VENV)

$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	@echo "setup: gati-gitops and its dependencies"
	@$(PIP) -e . || $(NO_PIP)
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "setup: gati-gitops, its dependencies and what tests and linters need"
	@$(PIP) -e '.[dev]' || $(NO_PIP)
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --dest $(VENV)/wheels \
		hatchling tzdata '.[otel,signing]' || $(NO_PIP)
	@touch $@ $(VENV)/.runtime
