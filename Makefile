# Everything a fresh machine needs: Python >= 3.11, make and a network for the first `pip install`.
#   make PYTHON=python3.12 test     another interpreter (it is only asked when .venv does not exist yet)
#   make VENV=/tmp/venv test        another place for the environment
#   make ARGS="-x tests/test_laws.py" matrix     a part of the tests on every Python

PYTHON ?= python3
VENV   ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test kernels chromium wheel check matrix format bench long clean

help:           ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: kernels                   ## run examples/demo.py, pictures go to ./demo_output
	$(BIN)/python examples/demo.py

test: kernels chromium          ## run the tests
	$(BIN)/python -m pytest -n 2 -q

kernels: $(VENV)/.stamp-test    ## compile the kernels that changed, all of them the first time (about a minute)
	@$(BIN)/python -m saltus.compile.build

chromium: $(VENV)/.stamp-test   ## install the browser that tests of pages need, where apt-get can (Debian, as root)
	@$(BIN)/python tests/chromium.py || true

wheel: $(VENV)/.stamp-test      ## build the wheel of this platform and test it in a clean environment
	$(BIN)/python bench/wheel.py $(ARGS)

check: $(VENV)/.stamp-dev       ## lint, format, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

matrix: $(VENV)/.stamp-test     ## run the tests on every Python >= 3.11 and on the lowest versions; ARGS= go to pytest
	$(BIN)/python bench/matrix.py $(ARGS)

format: $(VENV)/.stamp-dev      ## let ruff sort imports and lay out the code
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

bench: kernels                  ## run the benchmarks
	$(BIN)/python bench/run.py

long: kernels                   ## full counts of the tests, of bench/truth and bench/hostile, with their tables
	SALTUS_COUNTS=full $(BIN)/python -m pytest -n 2 -q
	$(BIN)/python bench/hostile/files.py
	$(BIN)/python bench/hostile/accidents.py
	$(BIN)/python bench/truth/run.py

clean:          ## remove the environment, caches and demo pictures
	rm -rf $(VENV) .matrix demo_output build dist src/saltus/kernels .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "saltus needs Python >= 3.11; '$(PYTHON)' is older or missing: make PYTHON=python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "'$(PYTHON) -m venv' failed: install it (Debian: apt install python3-venv)" >&2; exit 1; }

# An isolated build would install numba a second time, which an editable install does not need.
# The stamps live inside the environment, so they go when it goes; a changed pyproject.toml renews them.
$(VENV)/.stamp-test: pyproject.toml | $(BIN)/python
	@echo "installing saltus into $(VENV) ..."
	@$(PIP) install hatchling editables
	@$(PIP) install --no-build-isolation -e '.[test]'
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(BIN)/python
	@echo "installing saltus and the developer tools into $(VENV) ..."
	@$(PIP) install hatchling editables
	@$(PIP) install --no-build-isolation -e '.[dev]'
	@touch $@
