# Every command that a developer or a machine runs. `make` alone lists them.

SHELL := /bin/sh
.SHELLFLAGS := -eu -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

export PIP_DISABLE_PIP_VERSION_CHECK := 1
VENV := .venv
# Files of tests at once: most of them wait for disks and processes.
JOBS ?= 2
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
MANIFESTS := requirements/dev.lock pyproject.toml $(wildcard sdks/python/pyproject.toml)
EDITABLE := $(foreach manifest,pyproject.toml $(wildcard sdks/python/pyproject.toml),-e ./$(patsubst ./%,%,$(dir $(manifest))))
SUITABLE := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
HOW_TO_GET_PYTHON := Hiring Hall needs Python 3.11, 3.12 or 3.13 with venv: apt-get install python3-venv (Debian, Ubuntu), dnf install python3.13 (Fedora), brew install python@3.13 (macOS), or python.org

.PHONY: help demo test check bench faults format lock clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' Makefile

demo: $(INSTALLED) ## start a hall, workers and a plan, and watch it finish (ONCE=1: end by itself)
	@$(PYTHON) examples/demo.py $(if $(ONCE),--once)

test: $(INSTALLED) ## run every test (TESTS="path or options": some of them; JOBS=1: one after the other)
	@$(PYTHON) -m pytest -c pyproject.toml --numprocesses $(JOBS) --dist loadfile $(TESTS)

check: $(INSTALLED) ## format, lint, types, import contracts
	@failed=; \
	$(VENV)/bin/ruff format --check . || failed="$$failed format (make format mends it)"; \
	$(VENV)/bin/ruff check --quiet . || failed="$$failed lint"; \
	$(VENV)/bin/mypy || failed="$$failed types"; \
	$(VENV)/bin/lint-imports --no-logo || failed="$$failed imports"; \
	$(PYTHON) docs/generate.py --check || failed="$$failed pages (python docs/generate.py mends them)"; \
	[ -z "$$failed" ] || { echo "make check failed:$$failed" >&2; exit 1; }

bench: $(INSTALLED) ## run the benchmarks (BENCH="options")
	@$(PYTHON) -m bench $(BENCH)

faults: $(INSTALLED) ## the fault tests with all their rounds
	@HALL_TEST_ROUNDS=$${HALL_TEST_ROUNDS:-20} $(PYTHON) -m pytest tests/faults $(TESTS)

format: $(INSTALLED) ## format the code and mend what the linter can
	@$(VENV)/bin/ruff check --fix-only --quiet .
	@$(VENV)/bin/ruff format --quiet .

lock: $(INSTALLED) ## pin the dependencies in requirements/dev.lock (UPGRADE=1: the newest permitted)
	@$(VENV)/bin/pip-compile --quiet $(if $(UPGRADE),--upgrade) --extra dev --strip-extras --no-header --no-annotate --no-emit-options \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links $(addprefix --unsafe-package=,hiringhall-worker pip setuptools) \
		--output-file requirements/dev.lock requirements/own.in pyproject.toml

clean: ## remove the environment and everything built
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(INSTALLED): $(MANIFESTS)
	@{ $(PYTHON) -c '$(SUITABLE)' && $(PYTHON) -m pip --version; } >/dev/null 2>&1 || { \
		for python in python3.13 python3.12 python3.11 python3; do \
			$$python -c '$(SUITABLE)' >/dev/null 2>&1 && break || python=; \
		done; \
		[ -n "$$python" ] || { echo "$(HOW_TO_GET_PYTHON)" >&2; exit 1; }; \
		echo "making $(VENV) with $$($$python --version)"; \
		rm -rf $(VENV); $$python -m venv $(VENV); }
	@echo "installing into $(VENV) (once; about half a minute)"
	@$(PYTHON) -m pip install --quiet --requirement requirements/dev.lock
	@$(PYTHON) -m pip install --quiet --no-deps --no-build-isolation $(EDITABLE)
	@touch $@
