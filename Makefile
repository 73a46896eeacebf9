# Highwater. Everything a new clone needs happens in these targets: Python 3.11 or 3.12, Java 17 or newer and make are enough.

PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	"$$p" -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] <= (3, 12)))' 2>/dev/null && { command -v "$$p"; break; }; done)
BIN := .venv/bin
DATA ?= data
DEMO ?= 1
SEED ?= 1
RUNS ?= 1

.PHONY: up down test specification bench bench-kafka conformance simulate chaos docs reference client picture lint lint-style lint-types lint-types-console setup setup-dev tools lock clean

up: setup
	@$(BIN)/highwater --data "$(DATA)" up $(if $(filter 0,$(DEMO)),--no-demo)

down:
	@$(BIN)/highwater --data "$(DATA)" down

test: setup-dev tools
	@$(BIN)/python -m $(if $(ARGS),pytest $(ARGS),tests.run)

# Which tests show which row of docs/specification.md; ARGS=R6 names them one by one.
specification: setup-dev
	@$(BIN)/python -m tests.specification $(ARGS)

bench: setup-dev
	@$(BIN)/python -m tests.bench $(ARGS)

# Three brokers of Apache Kafka and of ours, in turns; goes on where it was interrupted. ARGS=--quick, "--rows native-*", --list
bench-kafka: setup-dev
	@$(BIN)/python -m tests.kafka_bench $(ARGS)

# Kafka's tools, Streams and Connect, then clients' own test suites against our brokers, and docs/conformance.md of those. ARGS="--suites aiokafka", --kafka (the same beside), --report
conformance: setup-dev tools
	@$(if $(ARGS),,$(BIN)/python -m pytest tests/kafka_tools tests/frameworks)
	@$(BIN)/python -m tests.conformance $(ARGS)

simulate: setup-dev
	@$(BIN)/python -m tests.simulation --seed $(SEED) --runs $(RUNS) $(ARGS)

chaos: setup-dev
	@$(BIN)/python -m tests.chaos --seed $(SEED) $(ARGS)

# The documentation as a site, in build/docs.
docs: setup-dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q && echo "build/docs/index.html"

# The tables of docs/settings.md and docs/protocol.md, from the code.
reference: setup-dev
	@$(BIN)/python scripts/reference.py

# A typed client in Python from the description of REST, in build/client.
client: setup-dev
	@mkdir -p build && $(BIN)/python manage.py openapi > build/openapi.json
	@$(BIN)/python -m openapi_python_client generate --config scripts/client.yaml --path build/openapi.json --meta setup --overwrite \
		--output-path build/client --fail-on-warning

# README's moving picture, of the system that `make up` runs; PASSWORD is its admin's.
picture: setup-dev
	@$(BIN)/python scripts/picture.py --password "$(PASSWORD)"

lint: setup-dev
	@$(MAKE) --no-print-directory -j2 -Otarget lint-style lint-types lint-types-console

lint-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint-types:
	$(BIN)/mypy

lint-types-console:
	HIGHWATER_SECRET_KEY=the-type-checker-reads-settings-and-signs-nothing $(BIN)/mypy --config-file console/mypy.ini

setup: .venv/.ready
setup-dev: .venv/.ready-dev

.venv/.ready: requirements.lock pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh "$(PYTHON)" requirements.lock .venv/.ready

.venv/.ready-dev: requirements-dev.lock .venv/.ready
	@sh scripts/setup.sh "$(PYTHON)" requirements-dev.lock .venv/.ready-dev

# What the tests drive beside Python packages.
tools:
	@sh scripts/tools.sh

# Writes the lock files anew from pyproject.toml (needs uv).
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes pyproject.toml -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --group spark -o requirements-spark.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf .venv staticfiles .pytest_cache .mypy_cache .ruff_cache
