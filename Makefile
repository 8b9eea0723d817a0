# `make` says what there is to make. Only python3 (3.11 or newer) with venv and pip is needed.
# Stamps inside the environments hang on pyproject.toml: a second run uses no network.

PYTHON ?= python3
VENV := .venv
OLD := .venv-duckdb15
OLD_DUCKDB := 1.5.5
# The build that the trainer is tested with; who trains brings the one for their devices.
TORCH := torch==2.13.0
# Its own extensions are not compiled: gloo and torch do what the tests need.
DEEPSPEED := deepspeed==0.19.8
PYTEST := $(VENV)/bin/python -m pytest
# What looks after the supply chain, apart: its own dependencies are many, and none is bench's.
SUPPLY := .venv-supply
SUPPLY_TOOLS := 'cyclonedx-bom>=7,<8' 'pip-audit>=2.9,<3'
LOWEST := .venv-lowest
# uv installs, where there is one, with the settings of pip.
GET_UV = $(VENV)/bin/python -m pip install --quiet --only-binary :all: 'uv>=0.9,<1'
INSTALL := $(VENV)/bin/python tests/install.py
# A process more than there are cores, since some tests wait for jobs and killed programs; a file to
# one of them: its tests share what they read. In the order of tests/conftest.py.
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
PYTEST_ARGS ?= -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# An environment does not survive a move of its folder: forget the stamps of one made elsewhere.
$(foreach env,$(VENV) $(OLD) $(SUPPLY) $(LOWEST),$(shell [ "$$(cat $(env)/.made 2>/dev/null)" = "$(CURDIR)" ] || \
  rm -f $(env)/.made $(env)/.installed $(env)/.developing $(env)/.deepspeed $(env)/.fuzzing $(env)/.browser $(env)/.storage))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without bytecode each program that a test starts compiles bench anew, and each worker all tests.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-fast test-all test-services test-duckdb15 test-lowest audit-packages lock sbom tcmalloc losses fuzz lint docs format generate clean python truth

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## read data/, print the 1.3B page, write it with charts to out/
	$(VENV)/bin/bench ingest data/
	$(VENV)/bin/bench report --model 1.3B
	$(VENV)/bin/bench report --model 1.3B -o out

test: $(VENV)/.deepspeed ## every test that needs no service
	$(PYTEST) -m "not services" $(PYTEST_ARGS)

test-fast: $(VENV)/.developing ## each part by itself, few whole commands; stops at the first failure
	$(PYTEST) -m "not services and not slow and not programs" -x -q $(PYTEST_ARGS)

# With -j the services' tests, which wait most of their time, run beside the others.
test-all: test truth test-services test-duckdb15 audit-packages ## every test, on both lines of DuckDB

# Slurm and what its accounting needs, a browser, PostgreSQL; installed as root. The tests start
# their own, on loopback. Pictures of each kind of page of the site are left in out/pages/.
SERVICES := slurm-wlm slurm-wlm-torque slurmdbd munge mariadb-server-core mariadb-client-core chromium fonts-dejavu-core postgresql
SERVED_TESTS = $(shell grep -lE 'mark\.services|BROWSED' tests/test_*.py)
test-services: $(VENV)/.deepspeed $(VENV)/.browser $(OLD)/.storage out/npm/.installed
	@if [ "$$(id -u)" != 0 ]; then \
	  echo '*** services: SKIPPED, their Debian packages cannot be installed without root ***' >&2; \
	else \
	  tests/services/packages.sh $(SERVICES) && $(PYTEST) -m services -n0 $(SERVED_TESTS) && \
	  $(OLD)/bin/python -m pytest -m services -n0 tests/test_lake_services.py; \
	fi

# Each SQL text, what the file of a warehouse goes through, and catalogs of DuckLake, which there are
# wheels for on this line alone: the rest is the same Python.
OLD_TESTS := $(foreach name,api audit crash facts formulas golden \
  materialized metrics reports restate schema sealed settled shared shared_names site_small untrusted_lakes where,tests/test_$(name).py)
test-duckdb15: $(OLD)/.developing
	@echo '*** what asks the warehouse, on duckdb $(OLD_DUCKDB) ***'
	$(OLD)/bin/python -m pytest -m "not services and not slow" -k "not changed_copies and not put_away and not [folder]" $(OLD_TESTS) $(PYTEST_ARGS)
	$(OLD)/bin/python -m pytest -m slow -k "sqlite or duckdb" -n logical tests/test_shared.py
	$(OLD)/bin/python -m pytest -n0 tests/test_views_at_size.py

# What leans on libraries most: the warehouse, tables, pages, charts, the command line, settings.
LOWEST_TESTS := $(foreach name,api cells chart cli escape formulas golden markdown own_formats settings \
  untrusted_repositories terminal,tests/test_$(name).py)
test-lowest: $(LOWEST)/.developing ## the core on the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -m "not services and not slow" $(LOWEST_TESTS) $(PYTEST_ARGS)

audit-packages: $(SUPPLY)/.installed ## known vulnerabilities of what the Action installs
	$(SUPPLY)/bin/python tests/vulnerabilities.py requirements.lock

LOCKED := pyproject.toml out/build.in --universal --python-version 3.11 --generate-hashes
lock: $(VENV)/bin/uv ## requirements.lock anew from pyproject.toml: the newest versions, with hashes
	@mkdir -p out
	@$(VENV)/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' >out/build.in
	$(VENV)/bin/uv pip compile -q $(LOCKED) --upgrade --no-header --no-emit-index-url --no-emit-find-links -o out/requirements.lock
	{ head -1 requirements.lock; cat out/requirements.lock; } >out/lock && mv out/lock requirements.lock

sbom: $(SUPPLY)/.installed ## out/bench.cdx.json: what the Action installs, as CycloneDX
	@mkdir -p out
	$(SUPPLY)/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible --spec-version 1.6 -o out/bench.cdx.json

tcmalloc: $(VENV)/.developing ## with or without tcmalloc, beside the published table: five minutes on two cores
	tests/services/packages.sh libtcmalloc-minimal4
	@mkdir -p out
	$(VENV)/bin/bench launch examples/tcmalloc.toml --db out/tcmalloc.duckdb -o out/tcmalloc
	$(VENV)/bin/bench ingest -q --db out/tcmalloc.duckdb data/tables/003_check_tcmalloc.md
	$(VENV)/bin/bench report settings --db out/tcmalloc.duckdb

truth: $(VENV)/.developing ## documents against their golden reading: cells, facts around tables, findings
	$(VENV)/bin/python -m tests.truth

losses: $(VENV)/.developing ## every topology of the trainer against one process, as a table
	$(VENV)/bin/python -m tests.test_trainer_topologies

FUZZ_SECONDS ?= 300
fuzz: $(VENV)/.fuzzing ## random logs guided by coverage, FUZZ_SECONDS=300; what is found lies in out/fuzz/found
	nice -n 19 $(VENV)/bin/python tests/fuzzing.py --seconds $(FUZZ_SECONDS)

lint: $(VENV)/.developing ## ruff, its format and mypy; changes nothing
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: $(VENV)/.developing ## the documentation as a site in out/site; a broken link or anchor is an error
	$(VENV)/bin/sphinx-build -q -W --keep-going -b html -c docs . out/site
	@cp out/site/README.html out/site/index.html

format: $(VENV)/.developing ## let ruff mend and format
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

generate: $(VENV)/.developing ## what is made from declarations: code, JSON schemas, tables of docs/
	$(VENV)/bin/python -m bench.vocabulary.fields
	$(VENV)/bin/python -m bench.audit.reference
	$(VENV)/bin/python -m bench.schema.reference > docs/warehouse.md
	$(VENV)/bin/python -m bench.foresight.reference > docs/cost_model.md
	$(VENV)/bin/python -m bench.project.configuration > docs/bench.schema.json
	$(VENV)/bin/python -m bench.project.facts_file > docs/facts.schema.json
	$(VENV)/bin/python -m bench.launch.plan > docs/plan.schema.json
	$(VENV)/bin/python -m bench.records.json_schema > docs/record.schema.json
	$(VENV)/bin/python -m bench.claims.statement > docs/claim.schema.json

clean: ## remove environments, builds, caches and out/; the warehouse bench.duckdb stays
	rm -rf $(VENV) $(OLD) $(SUPPLY) $(LOWEST) build dist out *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -type d -prune -exec rm -rf {} +

python:
	@command -v $(PYTHON) >/dev/null || \
	  { echo 'error: no $(PYTHON) here: install Python 3.11 or newer, or say: make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $$($(PYTHON) -V) is too old: 3.11 or newer is needed; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo 'error: $(PYTHON) has no venv: on Debian, apt-get install python3-venv' >&2; exit 1; }

$(VENV)/.made: | python
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	-@$(GET_UV)
	@echo '$(CURDIR)' >$@

$(VENV)/bin/uv: | $(VENV)/.made
	$(GET_UV)

$(OLD)/.made $(SUPPLY)/.made $(LOWEST)/.made: | $(VENV)/.made
	rm -rf $(@D)
	$(PYTHON) -m venv --without-pip $(@D)
	@echo '$(CURDIR)' >$@

# `bench` alone, for the demo.
$(VENV)/.installed: pyproject.toml | $(VENV)/.made
	$(INSTALL) $(VENV) -e .
	@touch $@

# With the tools; `bench` is in it.
$(VENV)/.developing: pyproject.toml | $(VENV)/.made
	$(INSTALL) $(VENV) -e '.[dev]' $(TORCH)
	@touch $(VENV)/.installed $@

$(VENV)/.deepspeed: $(VENV)/.developing
	DS_BUILD_OPS=0 DS_ACCELERATOR=cpu $(INSTALL) $(VENV) --no-build-isolation $(DEEPSPEED)
	@touch $@

# Drives the browser of the system: none is downloaded.
$(VENV)/.browser: $(VENV)/.developing
	$(INSTALL) $(VENV) -e '.[browser]'
	@touch $@

# S3 on loopback, beside the DuckDB that there are wheels of DuckLake for.
$(OLD)/.storage: $(OLD)/.developing
	$(INSTALL) $(OLD) -e '.[storage]'
	@touch $@

# TypeScript checks the scripts of the site, and axe-core its pages; nothing of both is shipped.
out/npm/.installed: tests/services/package.json
	@mkdir -p $(@D) && cp $< $(@D)
	@if command -v npm >/dev/null; then \
	  npm install --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts && touch $@; \
	else \
	  echo '*** site: TypeScript and axe-core SKIPPED, there is no npm ***' >&2; \
	fi

$(VENV)/.fuzzing: $(VENV)/.developing
	$(INSTALL) $(VENV) -e '.[fuzz]'
	@touch $@

$(SUPPLY)/.installed: Makefile | $(SUPPLY)/.made
	$(INSTALL) $(SUPPLY) $(SUPPLY_TOOLS)
	@touch $@

# The lowest of what pyproject.toml names; what these need in turn is the newest that fits.
$(LOWEST)/.developing: pyproject.toml $(VENV)/bin/uv | $(LOWEST)/.made
	$(VENV)/bin/uv pip install -q -p $(LOWEST)/bin/python --resolution lowest-direct --only-binary :all: -e .
	$(INSTALL) $(LOWEST) pytest pytest-xdist hypothesis jsonschema
	@touch $@

$(OLD)/.developing: pyproject.toml | $(OLD)/.made
	$(INSTALL) $(OLD) -e '.[dev,lake]' 'duckdb==$(OLD_DUCKDB)'
	@touch $@
