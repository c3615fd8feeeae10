# Two commands matter: `make demo` and `make test`. Both set everything up themselves.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
OLDEST := v1.33.13
RETRIED := tests/cluster/retried.txt
DECIDING := src/fairlead/model/*,src/fairlead/kernel/*,src/fairlead/levels/*,src/fairlead/engine/*
ACTING := src/fairlead/live/*,src/fairlead/kube/*

.PHONY: help setup demo page dist test-install test pure cluster-tests proof oldest proof-fleet mutants fuzz soak image manifests lint fix types bench cluster docs reference notebook site clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(STAMP) ## a virtual environment with everything pinned; leaves .venv/bin/fairlead

$(STAMP): requirements.lock pyproject.toml
	@echo "setup: creating $(VENV) from requirements.lock"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# The lock names everything, so nothing is resolved: a newer release of a dependency with extras cannot break set-up.
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

demo: setup ## the plan of examples/shop, no cluster needed
	@# Exit code 1 only says that some replicas wait, as they do in this example.
	@$(BIN)/fairlead plan -f examples/shop -o table || test $$? -eq 1
	@echo; echo "Next: $(BIN)/fairlead --help, or $(BIN)/fairlead explain -f examples/shop shop/web"

BUNDLE := src/fairlead/web/static/app.js

page: $(BUNDLE) ## the page of `fairlead ui`, bundled into the package (needs Node.js 20 and npm)

$(BUNDLE): page/package-lock.json page/build.mjs page/tsconfig.json $(shell find page/src -type f)
	@command -v npm >/dev/null || { echo "page: NOT BUILT, there is no npm; everything but \`fairlead ui\` and --html works without it"; exit 1; }
	@cd page && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error && npm run --silent check && npm run --silent build

dist: setup page ## wheel, sdist and kubectl plugin under dist/, the same bytes on every machine (URL= where they will be found)
	@$(BIN)/python -m tools.release $(if $(URL),--url $(URL))

test-install: setup ## what is tested as people install it: wheels, the page in a browser, the chart, the image
	@tools/test-install $(BIN)

test: setup lint types ## everything CI runs: checks, pure tests with coverage, tests on a real API server
	@$(MAKE) --no-print-directory pure
	@$(MAKE) --no-print-directory cluster-tests
	@$(BIN)/python -m tools.retries $(RETRIED) --shown

pure: setup ## the tests that need no API server, in parallel, with branch coverage
	@$(BIN)/pytest -m "not cluster and not proof and not page and not install" -n 2 --dist worksteal --cov --cov-report=
	@echo "coverage of what decides (model, kernel, levels, engine): 95 % or more"
	@$(BIN)/coverage report --include='$(DECIDING)' --fail-under=95
	@echo "coverage of what acts (live, kube): 90 % or more"
	@$(BIN)/coverage report --include='$(ACTING)' --fail-under=90

cluster-tests: setup ## the tests on a real API server, in series; what fails runs once more, and is kept
	@$(BIN)/python -m tools.retries $(RETRIED) -- tests/cluster -m "cluster and not proof" -p no:xdist

proof: setup ## random examples of all properties (SEED=), then full sizes; writes dated results under docs/proof/
	@seed=$(or $(SEED),$$(date +%s)); echo "proof: random examples, SEED=$$seed"; \
	  FAIRLEAD_HYPOTHESIS=proof $(BIN)/pytest -m "hypothesis and not cluster and not proof" -n 2 --dist worksteal --timeout=3600 --hypothesis-seed=$$seed
	@FAIRLEAD_HYPOTHESIS=proof $(BIN)/pytest -m proof -p no:xdist
	@$(MAKE) --no-print-directory oldest

oldest: setup ## the tests on a real API server, on the oldest Kubernetes that is expected to work (KUBERNETES=)
	@FAIRLEAD_KUBERNETES=$(or $(KUBERNETES),$(OLDEST)) $(BIN)/pytest tests/cluster -m "cluster and not proof" -p no:xdist

proof-fleet: setup ## three member clusters in trouble, MINUTES=60: nothing is deleted that was asked for; writes docs/proof/
	@MINUTES=$(or $(MINUTES),60) $(BIN)/pytest -m proof -p no:xdist -s tests/cluster/test_fleet_members_proof.py

mutants: setup ## does a test fail when one operator changes? N=100 SEED=0, PAGE=1 writes docs/proof/
	@$(BIN)/python -m tools.mutants --number $(or $(N),100) --seed $(or $(SEED),0) $(if $(UNDER),--under $(UNDER)) $(if $(PAGE),--page)

fuzz: setup ## mangled inputs for everything that reads from outside; N=10000 SEED= ONLY=, PAGE=1 adds to docs/proof/
	@$(BIN)/python -m tests.campaign fuzz --number $(or $(N),10000) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(PAGE),--page)

soak: setup ## all components on a real control plane through random faults; MINUTES=10 SEED=, PAGE=1 adds to docs/proof/
	@$(BIN)/python -m tests.campaign soak --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(if $(PAGE),--page)

lint: setup ## style, import contracts, spelling
	@$(BIN)/ruff format --check --quiet src tests bench tools || { echo "run: make fix"; exit 1; }
	@$(BIN)/ruff check --quiet src tests bench tools
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/codespell src tests docs bench examples page/src README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md

fix: setup ## format and repair what can be repaired
	@$(BIN)/ruff format src tests bench tools
	@$(BIN)/ruff check --fix src tests bench tools

types: setup ## strict type check
	@$(BIN)/mypy

image: setup page ## the image of all components, with its bill of materials (BASE= an image with Python 3.11)
	@$(BIN)/python -m tools.image.build $(if $(BASE),--base $(BASE)) $(if $(NAME),--name $(NAME))

manifests: setup ## the schema of the chart's values and the kustomize folders, rendered from the chart
	@$(BIN)/python -m tools.manifests

bench: setup ## every speed goal in one table beside the peers' figures (NAME="global volumes", PAGE=1 writes docs/proof/)
	@$(BIN)/python -m bench $(NAME) $(if $(PAGE),--record)

cluster: setup ## a real control plane on loopback with KWOK nodes (NODES=10, KUBERNETES=v1.34.4)
	@FAIRLEAD_KUBERNETES=$(KUBERNETES) exec $(BIN)/python -m tools.controlplane.up $(if $(NODES),--nodes $(NODES))

notebook: setup ## execute the notebooks of examples/ and store their outputs
	@$(BIN)/python -m tools.notebook examples/python/tour.ipynb

reference: setup ## write docs/reference from the program
	@$(BIN)/python -m tools.reference

SITE := build/site-venv
site: setup ## the documentation as a static site with search, under build/site
	@test -x $(SITE)/bin/zensical || { $(PYTHON) -m venv $(SITE) && $(SITE)/bin/python -m pip install --quiet --no-deps --require-hashes --requirement tools/site/requirements.lock; }
	@$(BIN)/python -m tools.site
	@$(SITE)/bin/zensical build --strict --config-file build/mkdocs.yml
	@echo "site: build/site/index.html"

docs: setup ## check that every documented command runs and every reason is documented
	@$(BIN)/pytest -q tests/arch tests/docs

clean: ## remove what make created here (the control plane's cache stays)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .import_linter_cache build dist src/*.egg-info src/fairlead/web/static page/node_modules
