# The only command interface of the book. `make` alone lists the targets.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: always help book site test text chapter new move remove notebooks references lab pyodide serve pdf slides addresses lint check-site bench versions mutants audit links lock clean experiments .venv
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# So many mutants change nothing: a `<=` at a threshold where both ways are right, an argument at its default.
HARMLESS := 39
# Two of these at once would spoil each other's work; macOS has no flock, and takes no care.
ALONE := $(if $(shell command -v flock),flock --nonblock --conflict-exit-code 75 .lock)
BUSY := { [ $$? != 75 ] || echo "Another make is at work in this directory: wait for its end."; exit 1; }
# Take the kernel of this .venv, not one that the user installed elsewhere.
export JUPYTER_PREFER_ENV_PATH := 1

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

# A .venv that no longer starts is made anew.
$(shell .venv/bin/python -c '' 2>/dev/null || rm -f .venv/installed)
.venv: .venv/installed
.venv/installed: requirements.txt
	@$(PYTHON) tools/install.py .venv --requirement requirements.txt
	@.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Tools that would get in the way of the others have environments of their own.
.venv/%/installed: requirements.txt pyproject.toml | .venv
	@$(PYTHON) tools/install.py .venv/$* --constraint requirements.txt --group $*
	@touch $@

book: .venv ## build the site from the stored notebooks
	@$(ALONE) $(MAKE) --no-print-directory site || $(BUSY)

site: _build/complete
	@echo "The book: $(CURDIR)/_build/html/index.html"

# Sphinx looks at the pages that are there: pages that were removed, and what builds pages, are watched here.
_build/pages: _toc.yml requirements.txt $(wildcard book/_ext/*/*.py book/_ext/*/*.js)
	@rm -rf _build/html _build/.doctrees
	@mkdir -p _build && touch $@

# The address that the environment names is on every page.
_build/address: _build/pages always
	@test -e _build/html/index.html && echo '$(PAGES_URL) $(GITHUB_REPOSITORY)' | cmp -s - $@ || \
		echo '$(PAGES_URL) $(GITHUB_REPOSITORY)' > $@

# A build that failed or was stopped leaves no `complete`, and no first page; its pages are not built
# upon. Each page has the date of its last commit, so commits are watched, too.
_build/complete: _build/address _config.yml index.md \
		$(wildcard $(shell git rev-parse --git-path logs/HEAD 2>/dev/null)) \
		$(shell find book notebooks src -type f -not -name '*.pyc')
	@test -e $@ || rm -rf _build/html _build/.doctrees
	@rm -f $@ _build/html/index.html
	@$(BIN)/jupyter-book build . -W -n --keep-going 2>&1 | tee _build/log || { \
		rm -rf _build/html; echo "The build failed:"; \
		{ grep -E 'WARNING:|ERROR:' _build/log || true; \
		grep -B 4 -A 8 -E '(Extension|Exception) (error|occurred)|Errno|error occurred while executing' \
		_build/log || true; } | sed -E 's/(\.ipynb):([0-9]+)[0-9]{2}([0-9]{2}):/\1, cell \2 from the top, line \3:/'; \
		exit 1; }
	@touch $@

# The longest come first, so that both cores are busy to the end; with a thread each, no worker waits
# for the other's. CI runs the parts side by side; lines of the package are counted where it alone is.
PART := all
PYTEST := $(BIN)/python -m pytest --numprocesses=2 --dist=loadscope --no-loadscope-reorder
LONG := $(patsubst %,tests/test_%.py,page lab site light figures)
test: export OMP_NUM_THREADS := 1
test: $(if $(filter all browser,$(PART)),book,.venv) ## run every test, and every notebook once against what is stored (PART=unit)
	$(PYTEST) $(test-$(PART))
test-all = $(LONG) $(wildcard notebooks/11_*.ipynb) notebooks tests src
test-unit = --cov=posenc -m "not browser" tests src
test-notebooks = notebooks
test-browser = -m browser $(LONG) tests

notebooks: .venv ## execute the notebooks and store their outputs in place
	@printf '%s\0' $(NOTEBOOKS) | xargs -0 -n 1 -P 2 $(BIN)/python tools/execute.py

text: .venv ## check what the text says: rules, numbers, references, spelling (seconds)
	$(BIN)/python tools/references.py
	$(BIN)/codespell
	$(BIN)/python -m pytest --quiet --numprocesses=2 tests/test_book.py tests/test_numbers.py

# What `make lint` and `make test` say of one chapter, in some twenty seconds.
chapter: .venv ## execute, lint and check one chapter (NOTEBOOK=notebooks/07_linearity.ipynb)
	@test -e "$(NOTEBOOK)" || { echo "Which one? make chapter NOTEBOOK=notebooks/07_linearity.ipynb"; exit 1; }
	$(BIN)/python tools/references.py $(NOTEBOOK)
	$(BIN)/ruff format $(NOTEBOOK)
	$(BIN)/ruff check $(NOTEBOOK)
	$(BIN)/codespell $(NOTEBOOK)
	$(BIN)/python tools/execute.py $(NOTEBOOK)
	$(BIN)/python -m pytest --quiet $(NOTEBOOK) tests/test_book.py tests/test_numbers.py \
		-k "$(basename $(notdir $(NOTEBOOK))) or toc or ledger"

new: .venv ## begin a chapter from a template (NAME=relative_bias)
	@$(BIN)/python tools/chapters.py new "$(NAME)"

move: .venv ## give a chapter another number (NOTEBOOK=notebooks/21_relative_bias.ipynb TO=16)
	@$(BIN)/python tools/chapters.py move "$(NOTEBOOK)" "$(TO)"

remove: .venv ## take a chapter out, and off every list (NOTEBOOK=notebooks/21_relative_bias.ipynb)
	@$(BIN)/python tools/chapters.py remove "$(NOTEBOOK)"

references: .venv ## write the numbers, titles and labels that the text states
	@$(BIN)/python tools/references.py

lab: export JUPYTER_CONFIG_PATH := $(CURDIR)/tools/lab
lab: .venv ## open the book in JupyterLab (LAB="--no-browser --port 9000")
	$(BIN)/jupyter lab $(LAB)

pyodide: .venv tools/pyodide/node_modules/installed ## take Python for the pages from its sources again (needs a network, npm)
	@$(BIN)/python tools/pyodide.py

serve: book ## build the site and show it on localhost (PORT=8000)
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT) || \
		{ echo "The site can't be shown on port $(PORT). Try another: make serve PORT=8001"; exit 1; }

pdf: book ## print the book, and each page, into _build/html/pdf
	@$(BIN)/python tools/pdf.py

slides: book tools/slides/node_modules/installed ## make slides of two pages in _build/html/slides (needs npm)
	@$(BIN)/python tools/slides.py

addresses: book ## record the addresses that a release promises to keep
	@$(BIN)/python tests/addresses.py > tests/addresses.txt

lint: .venv ## check style, format, types and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell

# Lighthouse, reveal.js and Pyodide come from npm, the only parts of the book that do.
tools/%/node_modules/installed: tools/%/package-lock.json
	@command -v npm >/dev/null || { echo "Node.js 20 or later is needed, https://nodejs.org"; exit 1; }
	npm ci --prefix tools/$* --ignore-scripts --no-audit --no-fund
	@touch $@

# Lighthouse's goals, and its reports in _build/.lighthouseci.
PAGES ?= * book/* notebooks/*
RUNS ?= 3
check-site: book tools/lighthouse/node_modules/installed ## measure every page (PAGES="book/* search", RUNS=1)
	@pages=$$(cd _build/html && ls $(PAGES:%=%.html)); cd _build; \
		lhci="../tools/lighthouse/node_modules/.bin/lhci --config=../tools/lighthouse/lighthouserc.json"; \
		export CHROME_PATH=$$(../$(BIN)/python ../tools/browser.py); \
		$$lhci collect --numberOfRuns=$(RUNS) $$(printf -- '--url=http://localhost/%s ' $$pages); \
		$$lhci assert

experiments: export OMP_NUM_THREADS := 1
experiments: .venv ## train every model of chapters 11 and 15 again (22 minutes on two cores)
	$(BIN)/python tools/train.py

bench: .venv/bench/installed ## measure speed beside other libraries (RECORD=notebooks/data/speed.json)
	@PYTHONPATH=src .venv/bench/bin/python tools/bench.py $(RECORD)
	@PYTHONPATH=src .venv/bench/bin/python tools/checks_world.py $(RECORD:%=$(dir $(RECORD))implementations.json)
	@PYTHONPATH=src .venv/bench/bin/python -m pytest --noconftest -o addopts= tests/test_transformers.py

# The lowest versions that pyproject.toml admits, or the newest.
RESOLUTION := lowest-direct
versions-lowest-direct = $(patsubst %,tests/test_%.py,encoding nn plots widgets)
versions-highest = $(versions-lowest-direct) tests/test_experiments.py notebooks
versions: .venv ## test with other versions than the pinned: the lowest, or the newest (RESOLUTION=highest)
	@$(PYTHON) tools/install.py .venv/$(RESOLUTION) --no-config --all-extras --group book --group test \
		--resolution $(RESOLUTION) --prerelease disallow --requirement pyproject.toml
	PYTHONPATH=src .venv/$(RESOLUTION)/bin/python -m pytest $(versions-$(RESOLUTION))

# mutmut forks the tests: it has a small environment of its own, and sees the packages of .venv.
mutants: export OMP_NUM_THREADS := 1
mutants: .venv/mutants/installed ## put errors into the package: does a test notice? (15 minutes)
	rm -rf mutants
	PYTHONPATH=$$(echo $(CURDIR)/.venv/lib/python*/site-packages) .venv/mutants/bin/mutmut run --max-children 2
	@.venv/mutants/bin/mutmut results | grep -E 'survived|no tests|suspicious' > mutants/unnoticed || true
	@cat mutants/unnoticed; count=$$(wc -l < mutants/unnoticed); [ $$count -le $(HARMLESS) ] || { \
		echo "$$count go unnoticed, where $(HARMLESS) are known to change nothing."; \
		echo "What one changes: .venv/mutants/bin/mutmut show NAME. Add a test that fails with it."; exit 1; }

# Strict: a package that the service doesn't know can't count as free of faults.
audit: .venv/audit/installed ## ask for known vulnerabilities of what is pinned (needs a network)
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement requirements.txt

links: book ## try the links to other sites (needs a network)
	@trap 'rm -f _build/html/output.txt _build/html/output.json' EXIT; \
		$(ALONE) $(BIN)/jupyter-book build . --builder linkcheck || $(BUSY)

lock: .venv ## compile requirements.txt from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --all-extras --group book --group test --group lint --universal \
		--python-version 3.11 --fork-strategy fewest --output-file requirements.txt --quiet

clean: ## remove what was built and installed
	rm -rf _build .venv mutants tools/*/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
