# Two commands do everything: `make run` measures this machine, `make test` proves the house.
SHELL := /bin/bash
.DELETE_ON_ERROR:

# uv from the system where there is one, else fetched into the checkout.
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
export UV_PYTHON_DOWNLOADS := never
# Without compiled files each of the thousands of processes that the tests start compiles what it imports: half the time.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
# The agent's code compiled for its tests: linted, not optimised, on the dependencies of the build. It tests a real agent,
# which is optimised; what takes minutes then is ignored (`cargo test --release` runs all of it).
PLAIN := profile.release.package.cloudcmp-agent
CARGO_TEST := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/agent/lint CLOUDCMP_AGENT=$(CURDIR)/.venv/bin/cloudcmp-agent \
  cargo test --release --quiet --locked --config $(PLAIN).opt-level=0 --config $(PLAIN).debug-assertions=true
# The rooms whose tests start no agent, and those that ask other projects' servers besides.
ROOMS := analysis answer compare cost model plan published report stats store studies study tools
CLIENTS := client servers
OTHERS = $(patsubst %,--ignore=tests/%,$(ROOMS) $(CLIENTS))

.PHONY: run demo test ci servers test-agent test-rooms test-clients test-python probe check check-python check-agent python fmt build docs promises benchmarks clean
.DEFAULT_GOAL := help

help:
	@echo "make run        measure this machine and write a report"
	@echo "make demo       compare three simulated clouds"
	@echo "make test       build, then run every test"
	@echo "make check      format, lint, types, import rules"
	@echo "make probe NAME=x  what the probe x needs, in less than two minutes"
	@echo "make promises   the long versions of the safety tests"
	@echo "make benchmarks the agent beside the best tools"

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv

build: $(filter .tools/bin/uv,$(UV))
	@echo "building: Python packages and the Rust agent; the first time takes some minutes, later ones seconds"
	$(UV) sync --locked --all-packages

run: build
	$(BIN)/cloudcmp run

demo: build
	$(BIN)/cloudcmp demo

# Side by side: what needs no agent is tested while it is compiled, then the rest beside the agent's own tests.
test: python
	$(MAKE) --no-print-directory --jobs=3 build servers test-rooms test-clients
	$(MAKE) --no-print-directory --jobs=2 test-python test-agent

# All that every change must pass. The agent comes first: all but the rooms' tests wait for it, and its own tests are
# compiled beside theirs.
ci: python
	$(MAKE) --no-print-directory --jobs=4 --output-sync=target build check-python servers test-rooms test-clients
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target test-python test-agent check-agent

# Servers of other projects that tests ask: one that cannot be had says why, here and where its tests are skipped.
servers:
	$(BIN)/python -m tests.servers fetch light

test-agent:
	@cd agent && mkdir -p target && { $(CARGO_TEST) >target/tests.log 2>&1 || { cat target/tests.log; exit 1; }; }
	@echo "the agent's tests passed: $$(grep -c '^test result: ok' agent/target/tests.log) programs"

test-rooms:
	$(BIN)/pytest -q -n $$(nproc) --dist worksteal $(ROOMS:%=tests/%)

# The other tests are compiled here, once: the workers that run them begin together, and would each compile them all.
test-clients: servers test-rooms
	$(BIN)/pytest -q -n $$(nproc) --dist worksteal $(CLIENTS:%=tests/%)
	@$(BIN)/pytest -q --collect-only $(OTHERS) >.pytest_cache/collected.log 2>&1 || { cat .pytest_cache/collected.log; exit 1; }

test-python:
	$(BIN)/pytest -q -n $$((3 * $$(nproc))) --dist worksteal --durations 25 $(OTHERS)  # most of them wait at any time

# What a new probe needs, and no more: its own test on each side, and its rows beside each other.
probe: build
	@ls agent/tests/agent/$(NAME).rs agent/tests/agent/$(NAME)_.rs 2>/dev/null | grep -q . || { echo "say which probe: make probe NAME=fma, with a test agent/tests/agent/fma.rs"; exit 2; }
	cd agent && cargo fmt --check
	cd agent && $(CARGO_TEST) --bins probe::$(NAME):: && $(CARGO_TEST) --test agent $(NAME)
	$(BIN)/pytest -q -n 2 tests/docs/test_contributing.py tests/docs/test_speed.py tests/catalog
	$(BIN)/pytest -q -k "$(NAME)" $(wildcard tests/*/test_real_agent.py) || [ $$? -eq 5 ]  # 5: a study words it

# Everything but the agent: what reads sources need not wait for its compiler.
python: $(filter .tools/bin/uv,$(UV))
	$(UV) sync --locked --all-packages --inexact --no-install-package cloudcmp-agent --quiet

# Half of it is one compiler's, half one interpreter's: `make -j2 check` has them side by side.
check: check-python check-agent

check-python: python
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# After the agent's tests where both are made: cargo does one thing at a time in its folder.
check-agent: $(filter test-agent,$(MAKECMDGOALS))
	cd agent && cargo fmt --check
	cd agent && $(CARGO_TEST) --no-run

fmt: python
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .
	cd agent && cargo fmt

docs: build
	$(BIN)/python docs/generate.py

promises: build
	$(BIN)/python -m tests.promises

benchmarks: build
	@for script in benchmarks/*.py; do $(BIN)/python $$script; done

clean:
	rm -rf .venv .tools agent/target dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
