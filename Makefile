# The only command interface of the book. `make` alone lists the targets.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: always help book site test text chapter new notebooks references lab pyodide serve pdf lint check-site bench versions audit links lock clean experiments .venv
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# One at a time; macOS has no flock, so nothing guards it there.
ALONE := $(if $(shell command -v flock),flock .lock)
# Use this .venv's kernel, not one that the user installed elsewhere.
export JUPYTER_PREFER_ENV_PATH := 1
# Some fifty Pythons start in a run of the tests: what one has compiled is kept for the next.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

# `make help` starts nothing else.
ifneq ($(filter-out help,$(MAKECMDGOALS)),)
# Recreate a .venv whose Python no longer starts.
$(shell .venv/bin/python -c '' 2>/dev/null || rm -f .venv/installed)
SOURCES := $(shell find book notebooks src -type f -not -name '*.pyc')
endif
.venv: .venv/installed
.venv/installed: requirements.txt
	@$(PYTHON) tools/install.py .venv --requirement requirements.txt
	@.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Tools whose dependencies would conflict get separate environments.
.venv/%/installed: requirements.txt pyproject.toml | .venv
	@$(PYTHON) tools/install.py .venv/$* --constraint requirements.txt --group $*
	@touch $@

book: .venv ## build the site from the stored notebooks
	@$(ALONE) $(MAKE) --no-print-directory site

site: _build/complete
	@echo "The book: $(CURDIR)/_build/html/index.html"

# Every page contains the site's address, so changing it triggers a build.
_build/address: always
	@mkdir -p _build
	@test -e _build/html/index.html && echo '$(PAGES_URL) $(GITHUB_REPOSITORY)' | cmp -s - $@ || \
		echo '$(PAGES_URL) $(GITHUB_REPOSITORY)' > $@

# Each build starts from scratch: pages show titles, numbers, terms and scripts of each other.
_build/complete: _build/address _config.yml _toc.yml requirements.txt index.md $(SOURCES)
	@rm -rf $@ _build/html _build/.doctrees
	@$(BIN)/jupyter-book build . -W -n --keep-going 2>&1 | tee _build/log || { \
		rm -rf _build/html; echo "The build failed:"; \
		{ grep -E 'WARNING:|ERROR:' _build/log || true; \
		grep -B 4 -A 8 -E '(Extension|Exception) (error|occurred)|Errno|error occurred while executing' \
		_build/log || true; } | sed -E 's/(\.ipynb):([0-9]+)[0-9]{2}([0-9]{2}):/\1, cell \2 from the top, line \3:/'; \
		exit 1; }
	@touch $@

# Longest first, to keep both cores busy; one thread per worker avoids contention. CI runs the parts
# in parallel. Files are listed: beside a folder that has them, too,
# pytest would take them in the folder's order.
PART := all
PYTEST := $(BIN)/python -m pytest --numprocesses=2 --dist=loadscope --no-loadscope-reorder
LONG := $(patsubst %,tests/test_%.py,page lab site figures light)
OTHERS := $(filter-out $(LONG),$(wildcard tests/test_*.py))
test experiments: export OMP_NUM_THREADS := 1
test: $(if $(filter all browser,$(PART)),book,.venv) ## run every test, and every notebook once against its stored outputs (PART=unit)
	$(PYTEST) $(test-$(PART))
test-all = $(LONG) $(NOTEBOOKS) $(OTHERS) src
test-unit = -m "not browser" tests src
test-notebooks = notebooks
test-browser = -m browser $(LONG) $(OTHERS)

notebooks: .venv ## execute the notebooks and update their outputs in place
	@printf '%s\0' $(NOTEBOOKS) | xargs -0 -n 1 -P 2 $(BIN)/python tools/execute.py

text: .venv ## check the text: rules, numbers, references, spelling (seconds)
	$(BIN)/python tools/references.py
	$(BIN)/codespell
	$(BIN)/python -m pytest --quiet --numprocesses=2 $(patsubst %,tests/test_%.py,book numbers)

# All that `make lint` and `make test` check in one chapter, in about twenty seconds.
chapter: .venv ## execute, lint and check one chapter (NOTEBOOK=notebooks/03_linearity.ipynb)
	@test -e "$(NOTEBOOK)" || { echo "Which one? make chapter NOTEBOOK=notebooks/03_linearity.ipynb"; exit 1; }
	$(BIN)/python tools/references.py $(NOTEBOOK)
	$(BIN)/ruff format $(NOTEBOOK)
	$(BIN)/ruff check $(NOTEBOOK)
	$(BIN)/codespell $(NOTEBOOK)
	$(BIN)/python tools/execute.py $(NOTEBOOK)
	$(BIN)/python -m pytest --quiet $(NOTEBOOK) tests/test_book.py tests/test_numbers.py \
		-k "$(basename $(notdir $(NOTEBOOK))) or toc or ledger"

new: .venv ## start a chapter from a template (NAME=relative_bias)
	@$(BIN)/python tools/chapters.py "$(NAME)"

references: .venv ## update the numbers, titles and labels in the text
	@$(BIN)/python tools/references.py

lab: export JUPYTER_CONFIG_PATH := $(CURDIR)/tools/lab
lab: .venv ## open the book in JupyterLab (LAB="--no-browser --port 9000")
	$(BIN)/jupyter lab $(LAB)

pyodide: .venv tools/pyodide/node_modules/installed ## download Python for the pages again (needs a network, npm)
	@$(BIN)/python tools/pyodide.py

serve: book ## build the site and serve it on localhost (PORT=8000)
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT) || \
		{ echo "Can't serve the site on port $(PORT). Try another: make serve PORT=8001"; exit 1; }

pdf: book ## print the book into _build/book.pdf
	@$(BIN)/python tools/pdf.py

lint: .venv ## check style, format, types and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell

# Only Lighthouse and Pyodide come from npm.
tools/%/node_modules/installed: tools/%/package-lock.json
	@command -v npm >/dev/null || { echo "This needs Node.js 20 or later: https://nodejs.org"; exit 1; }
	npm ci --prefix tools/$* --ignore-scripts --no-audit --no-fund
	@touch $@

# Lighthouse writes its reports to _build/.lighthouseci.
PAGES ?= * book/* notebooks/*
RUNS ?= 3
check-site: book tools/lighthouse/node_modules/installed ## run Lighthouse on every page (PAGES="book/* search", RUNS=1)
	@pages=$$(cd _build/html && ls $(PAGES:%=%.html)); cd _build; \
		lhci="../tools/lighthouse/node_modules/.bin/lhci --config=../tools/lighthouse/lighthouserc.json"; \
		export CHROME_PATH=$$(../$(BIN)/python ../tools/browser.py); \
		$$lhci collect --numberOfRuns=$(RUNS) $$(printf -- '--url=http://localhost/%s ' $$pages); \
		$$lhci assert

experiments: .venv ## retrain every model of the experiments (22 minutes on two cores)
	$(BIN)/python tools/train.py

bench: .venv/bench/installed ## benchmark against other libraries (RECORD=notebooks/data/speed.json)
	@PYTHONPATH=src .venv/bench/bin/python tools/bench.py $(RECORD)
	@PYTHONPATH=src .venv/bench/bin/python tools/checks_world.py $(RECORD:%=$(dir $(RECORD))implementations.json)
	@PYTHONPATH=src .venv/bench/bin/python -m pytest --noconftest -o addopts= tests/test_transformers.py tests/test_watch.py

# The lowest versions that pyproject.toml allows, or the newest.
RESOLUTION := lowest-direct
versions-lowest-direct = $(patsubst %,tests/test_%.py,encoding nn widgets)
versions-highest = $(versions-lowest-direct) tests/test_experiments.py notebooks
versions: .venv ## test with the lowest versions instead of the pinned ones, or the newest (RESOLUTION=highest)
	@$(PYTHON) tools/install.py .venv/$(RESOLUTION) --no-config --all-extras --group book --group test \
		--resolution $(RESOLUTION) --prerelease disallow --requirement pyproject.toml
	PYTHONPATH=src .venv/$(RESOLUTION)/bin/python -m pytest $(versions-$(RESOLUTION))

# Strict: a package unknown to the service must not pass as safe.
audit: .venv/audit/installed ## check the pinned packages for known vulnerabilities (needs a network)
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement requirements.txt

links: book ## check external links (needs a network)
	@trap 'rm -f _build/html/output.txt _build/html/output.json' EXIT; \
		$(ALONE) $(BIN)/jupyter-book build . --builder linkcheck

lock: .venv ## compile requirements.txt from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --all-extras --group book --group test --group lint --universal \
		--python-version 3.11 --fork-strategy fewest --output-file requirements.txt --quiet

clean: ## remove everything that was built or installed
	rm -rf _build .venv tools/*/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
