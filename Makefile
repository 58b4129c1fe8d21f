# The book's commands: `make` alone lists them. Without make, CONTRIBUTING.md says what to type.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: always help book test text chapter new notebooks references lab pyodide serve card stills lint check-site bench versions audit links lock experiments clean .venv
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
BIN := .venv/bin
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# Use this .venv's kernel, not one that the user installed elsewhere.
export JUPYTER_PREFER_ENV_PATH := 1
# Some fifty Pythons start in a run of the tests: what one has compiled is kept for the next.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

# `make help` starts nothing else.
ifneq ($(filter-out help,$(MAKECMDGOALS)),)
# Recreate a .venv whose Python no longer starts.
$(shell .venv/bin/python -c '' 2>/dev/null || rm -rf .venv)
SOURCES := $(shell find book notebooks src -type f -not -name '*.pyc')
endif
.venv: .venv/installed
# On Linux, PyPI's torch is the GPU build, a larger download by 2.5 GB. So pip installs torch first,
# the CPU build from PyTorch's index; if that is out of reach, torch comes from wherever pip looks.
%/torch: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "3.11 or later is needed: make PYTHON=python3.11 …")'
	@echo "Setting up $*, of up to 1.7 GB."
	@$(PYTHON) -m venv $*
	@$*/bin/python -m pip install $(QUIET) --no-deps "$$(grep '^torch==' requirements.txt)" \
		--extra-index-url https://download.pytorch.org/whl/cpu
	@touch $@
QUIET := --quiet --disable-pip-version-check --no-compile
UV := $(BIN)/uv pip install --quiet --no-sources --python
# The rest by uv, in seconds; or by pip, in minutes, where uv doesn't find an index that pip is set to.
.venv/installed: .venv/torch
	@$(BIN)/python -m pip install $(QUIET) 'uv>=0.8'
	@$(UV) .venv --requirement requirements.txt || $(BIN)/python -m pip install $(QUIET) --requirement requirements.txt
	@touch $@

# Tools whose dependencies would conflict get environments of their own, at the same pins.
.venv/pins.txt: requirements.txt | .venv
	@sed '/^-e/d' requirements.txt > $@
.venv/bench/installed: tools/bench.txt .venv/pins.txt .venv/bench/torch
	@$(UV) .venv/bench --constraint .venv/pins.txt --requirement tools/bench.txt
	@touch $@
.venv/audit/installed: .venv/pins.txt
	@$(PYTHON) -m venv .venv/audit
	@$(UV) .venv/audit --constraint .venv/pins.txt 'pip-audit>=2.9'
	@touch $@

book: _build/complete ## build the site from the stored notebooks
	@echo "The book: $(CURDIR)/_build/html/index.html"

# Every page contains the site's address, so changing it triggers a build.
_build/address: always
	@mkdir -p _build
	@test -e _build/html/index.html && echo '$(PAGES_URL) $(GITHUB_REPOSITORY)' | cmp -s - $@ || \
		echo '$(PAGES_URL) $(GITHUB_REPOSITORY)' > $@

# Each build starts from scratch: pages show titles, numbers, terms and scripts of each other.
# A warning in a notebook names its line as 10,000 times the cell, plus the line in the cell.
_build/complete: .venv/installed _build/address _config.yml _toc.yml index.md $(SOURCES)
	@rm -rf $@ _build/html _build/.doctrees
	@$(BIN)/jupyter-book build . -W -n --keep-going > _build/log 2>&1 || { \
		rm -rf _build/html; tail -n 40 _build/log; echo "The build failed:"; \
		{ grep -E 'WARNING:|ERROR:|[Ee]rror occurred' _build/log || true; } | \
		sed -E 's/(\.ipynb):([0-9]+)[0-9]{2}([0-9]{2}):/\1, cell \2 from the top, line \3:/'; \
		echo "All of it: _build/log"; exit 1; }
	@touch $@

# CI runs the parts in parallel. One thread per worker avoids contention. The longest chapter goes first: at the end,
# one worker would wait for it.
PART := all
test-all = notebooks/21_todays_rope.ipynb tests notebooks src
test-unit = -m "not browser" tests src
test-notebooks = notebooks
test-browser = -m browser tests
test experiments: export OMP_NUM_THREADS := 1
test: $(if $(filter all browser,$(PART)),book,.venv) ## run every test, and every notebook once against its stored outputs (PART=unit)
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadscope --no-loadscope-reorder $(test-$(PART))

notebooks: .venv ## execute the notebooks and update their outputs in place (NOTEBOOKS=notebooks/03_linearity.ipynb)
	@printf '%s\0' $(NOTEBOOKS) | xargs -0 -n 1 -P 2 $(BIN)/python tools/execute.py

text: .venv ## check the text: rules, numbers, references, spelling (seconds)
	$(BIN)/python tools/references.py
	$(BIN)/codespell
	$(BIN)/python -m pytest --quiet --numprocesses=2 tests/test_book.py tests/test_ledger.py tests/test_numbers.py

# All that `make lint` and `make test` check in one chapter, in about twenty seconds.
chapter: .venv ## execute, lint and check one chapter (NOTEBOOK=notebooks/03_linearity.ipynb)
	@test -e "$(NOTEBOOK)" || { echo "Which one? make chapter NOTEBOOK=notebooks/03_linearity.ipynb"; exit 1; }
	$(BIN)/python tools/references.py $(NOTEBOOK)
	$(BIN)/ruff format $(NOTEBOOK)
	$(BIN)/ruff check $(NOTEBOOK)
	$(BIN)/codespell $(NOTEBOOK)
	$(BIN)/python tools/execute.py $(NOTEBOOK)
	$(BIN)/python -m pytest --quiet $(NOTEBOOK) tests/test_book.py tests/test_ledger.py tests/test_numbers.py \
		-k "$(basename $(notdir $(NOTEBOOK))) or template or ledger"

# Chapters are numbered from 0.
NEW = notebooks/$(shell printf %02d $(words $(NOTEBOOKS)))_$(NAME).ipynb
new: ## start a chapter from a template (NAME=relative_bias)
	@[[ "$(NAME)" =~ ^[a-z][a-z0-9_]*$$ ]] || { echo "Which name? make new NAME=relative_bias"; exit 1; }
	@sed 's/NAME/$(subst _,-,$(NAME))/g' tools/chapter.ipynb > $(NEW)
	@echo "Created $(NEW)."
	@echo "List it in _toc.yml, index.md and book/all_pages.md. Then: make chapter NOTEBOOK=$(NEW)"

references: .venv ## update the numbers, titles and labels in the text
	@$(BIN)/python tools/references.py

lint: .venv ## check style, format, types and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell

# JupyterLab shows stored figures of notebooks that are trusted.
lab: .venv ## open the book in JupyterLab (LAB="--no-browser --port 9000")
	@$(BIN)/jupyter trust notebooks/*.ipynb > /dev/null
	$(BIN)/jupyter lab $(LAB)

PORT ?= 8000
serve: book ## build the site and serve it on localhost (PORT=8000)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

stills: .venv ## draw the still pictures of live figures, as their scripts draw them
	$(BIN)/python tools/stills.py

card: book ## draw the preview of links from the first page's figure
	$(BIN)/python tools/card.py

experiments: .venv ## retrain every model of the experiments (some 35 minutes on two cores)
	$(BIN)/python tools/train.py

bench: .venv/bench/installed ## benchmark against other libraries (RECORD=notebooks/data/speed.json)
	@PYTHONPATH=src .venv/bench/bin/python tools/bench.py $(RECORD)
	@PYTHONPATH=src .venv/bench/bin/python -m pytest --noconftest -o addopts= -o pythonpath="tests tools" tests/test_watch.py

# Only Lighthouse and Pyodide come from npm, and need Node.js 20 or later.
tools/%/node_modules/installed: tools/%/package-lock.json
	npm ci --prefix tools/$* --ignore-scripts --no-audit --no-fund
	@touch $@

pyodide: .venv tools/pyodide/node_modules/installed ## download Python for the pages again (needs a network, npm)
	@rm -rf _build/pyodide
	@$(BIN)/python -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
		--requirement tools/pyodide/wheels.txt --dest _build/pyodide
	@$(BIN)/python tools/pyodide.py

# Lighthouse writes its reports to _build/.lighthouseci. On two cores, Chromium without a screen may draw nothing for a
# second after a page was busy; with --run-all-compositor-stages-before-draw it draws each frame once it is ready.
PAGES ?= * book/* notebooks/*
RUNS ?= 3
check-site: book tools/lighthouse/node_modules/installed ## run Lighthouse on every page (PAGES="book/* search", RUNS=1)
	@pages=$$(cd _build/html && ls $(PAGES:%=%.html)); cd _build; \
		lhci="../tools/lighthouse/node_modules/.bin/lhci --config=../tools/lighthouse/lighthouserc.json"; \
		export CHROME_PATH=$$(../$(BIN)/python ../tools/browser.py); \
		$$lhci collect --numberOfRuns=$(RUNS) $$(printf -- '--url=http://localhost/%s ' $$pages); \
		$$lhci assert

# The lowest versions that pyproject.toml allows, or the newest.
RESOLUTION := lowest-direct
versions-lowest-direct = $(patsubst %,tests/test_%.py,encoding nn widgets)
versions-highest = $(versions-lowest-direct) tests/test_experiments.py notebooks
versions: .venv ## test with the lowest versions instead of the pinned ones, or the newest (RESOLUTION=highest)
	@$(PYTHON) -m venv .venv/$(RESOLUTION)
	@$(UV) .venv/$(RESOLUTION) --no-config --all-extras --group book --group test --torch-backend cpu \
		--resolution $(RESOLUTION) --prerelease disallow --requirement pyproject.toml
	PYTHONPATH=src .venv/$(RESOLUTION)/bin/python -m pytest $(versions-$(RESOLUTION))

# Strict: a package unknown to the service must not pass as safe.
audit: .venv/audit/installed ## check the pinned packages for known vulnerabilities (needs a network)
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement .venv/pins.txt

links: book ## check external links (needs a network)
	@trap 'rm -f _build/html/output.txt _build/html/output.json' EXIT; \
		$(BIN)/jupyter-book build . --builder linkcheck

# pip finds torch's build by itself: the list names one version for all platforms.
lock: .venv ## update uv.lock, and requirements.txt with it (needs a network)
	$(BIN)/uv lock --upgrade
	@{ echo "# The environment of the book, for pip: \`make lock\` writes this from uv.lock."; \
		$(BIN)/uv export --quiet --no-hashes --no-annotate --no-header | \
		sed -E '/^torch==.*\+cpu/d; s/^(torch==[0-9.]+) .*/\1/'; } > requirements.txt

clean: ## remove everything that was built or installed
	rm -rf _build .venv tools/*/node_modules .pytest_cache .mypy_cache .ruff_cache
