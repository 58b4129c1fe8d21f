# The only command interface of the book. `make` alone lists the targets.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book test faults check-site serve lint notebooks bench mutants audit links lab lock clean install site

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
INSTALLED := .venv/installed
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
SOURCES := $(wildcard src/posenc/*.py src/posenc/*.js) requirements.txt
# Each page has the date of its last commit.
INPUTS := _config.yml index.md $(wildcard .git/logs/HEAD) $(shell find book/* notebooks/* -not -path '*/.*' -not -path '*__pycache__*')
PAGE := _build/html/index.html

# What torch's GPU build draws in by itself. Pinned, it would come with the CPU build too.
GPU := cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cuda-cupti nvidia-cuda-nvrtc \
	nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-curand \
	nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink \
	nvidia-nvshmem-cu13 nvidia-nvtx triton

# Take the kernel of this .venv, not one that the user installed elsewhere.
export JUPYTER_PREFER_ENV_PATH := 1

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

# Two of these at once would spoil each other's work.
ALONE := $(PYTHON) .ci/alone.py

# A .venv that no longer starts, or is not of the Python that was named, is installed anew.
NAMED := $(filter-out file,$(origin PYTHON))
FIT := $(BIN)/python -c 'import pip' 2>/dev/null \
	$(if $(NAMED),&& test "$$($(BIN)/python -V)" = "$$($(PYTHON) -V)")
$(shell $(FIT) || rm -f $(INSTALLED))

$(INSTALLED): requirements.txt
	@$(ALONE) $(MAKE) --no-print-directory install

install:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11 …")'
	@$(FIT) || $(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --requirement requirements.txt
	$(BIN)/python -m pip install --no-deps --no-build-isolation --editable .
	@touch $(INSTALLED)

# The execution cache looks at notebooks alone: what they import is watched here.
_build/sources: $(SOURCES)
	rm -rf _build
	@mkdir -p _build && touch $@

# Sphinx looks at the pages that are there: those that went, and what builds them, are watched here.
_build/pages: _build/sources _toc.yml $(wildcard book/_ext/*.py)
	rm -rf _build/html _build/.doctrees
	@touch $@

book: $(INSTALLED) ## execute the notebooks and build the site
	@$(ALONE) $(MAKE) --no-print-directory site

# Every build writes every page. So where nothing changed since the last one, not even the address
# that the environment names, there is none.
site: _build/pages
	@echo '$(PAGES_URL) $(GITHUB_REPOSITORY)' > _build/address.new
	@cmp -s _build/address.new _build/address && test -e $(PAGE) || rm -f _build/complete
	@mv _build/address.new _build/address
	@$(MAKE) --silent _build/complete
	@echo "The book: $(CURDIR)/$(PAGE)"

# A build that failed or was stopped leaves no `complete`; its pages are not built upon.
_build/complete: _build/pages $(INPUTS)
	@test -e $@ || rm -rf _build/html _build/.doctrees
	@rm -f $@ _build/status _build/html/index.html
	@{ $(BIN)/jupyter-book build . -W -n --keep-going; echo $$? > _build/status; } 2>&1 | tee _build/log; \
		test "$$(cat _build/status)" = 0 || { rm -rf _build/html; echo "The build failed:"; \
		grep -B 4 -A 8 -E 'WARNING:|ERROR:|(Extension|Exception) (error|occurred)|Errno|error occurred while executing' \
		_build/log; exit 1; }
	@touch $@

test: $(INSTALLED) ## run the unit tests, and every notebook against its stored output
	$(BIN)/python -m pytest

faults: $(INSTALLED) ## break copies of the book, and see what happens
	$(BIN)/python -m pytest -m faults --no-cov --dist=load tests/test_faults.py

# Lighthouse comes from npm, the only part of the book that does.
tests/lighthouse/node_modules/installed: tests/lighthouse/package-lock.json
	@command -v npm >/dev/null || { echo "make check-site needs Node.js 18.20 or later, https://nodejs.org"; exit 1; }
	npm ci --prefix tests/lighthouse --ignore-scripts --no-audit --no-fund
	@touch $@

check-site: book tests/lighthouse/node_modules/installed ## measure every page (PAGES="book/* search", RUNS=3)
	@$(BIN)/python tests/check_site.py

serve: book ## build the site and show it on localhost (PORT=8000)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT) || \
		{ echo "The site can't be shown on port $(PORT). Try another: make serve PORT=8001"; exit 1; }

lint: $(INSTALLED) ## check style, format, types and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell

# A widget stores its picture alone, not the id that this run gave it.
notebooks: export POSENC_STATIC := 1
notebooks: $(INSTALLED) ## execute the notebooks and store their outputs in place
	printf '%s\0' $(NOTEBOOKS) | xargs -0 -n 1 -P 2 $(BIN)/jupyter nbconvert \
		--to notebook --inplace --execute --log-level WARN \
		--NotebookExporter.preprocessors=nbconvert.preprocessors.CoalesceStreamsPreprocessor \
		--ExecutePreprocessor.record_timing=False \
		--ClearMetadataPreprocessor.enabled=True \
		--ClearMetadataPreprocessor.clear_cell_metadata=False \
		--ClearMetadataPreprocessor.preserve_nb_metadata_mask=kernelspec

.venv/bench/installed: $(INSTALLED)
	$(BIN)/python -m venv --clear .venv/bench
	.venv/bench/bin/pip install --upgrade 'pip>=25.1'
	.venv/bench/bin/pip install --constraint requirements.txt --group bench
	@touch $@

bench: .venv/bench/installed ## measure speed beside other libraries, and the figures' in a browser
	@PYTHONPATH=src .venv/bench/bin/python benchmarks/bench.py
	$(BIN)/python -m pytest -m timing --no-cov --numprocesses=0 tests/test_browser.py

# mutmut forks the tests: it has a small environment of its own, and sees the packages of .venv.
.venv/mutants/installed: $(INSTALLED)
	$(BIN)/python -m venv --clear .venv/mutants
	.venv/mutants/bin/pip install --upgrade 'pip>=25.1'
	.venv/mutants/bin/pip install --constraint requirements.txt --group mutants
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$(.venv/mutants/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/main.pth"
	@touch $@

mutants: export OMP_NUM_THREADS := 1
mutants: .venv/mutants/installed ## put errors into the package and the notebooks: does a check notice?
	printf '%s\0' $(NOTEBOOKS) | xargs -0 -n 1 -P 2 $(BIN)/python tests/mutate_notebooks.py
	rm -rf mutants
	.venv/mutants/bin/python tests/mutate_package.py --max-children 2

.venv/audit/installed: $(INSTALLED)
	$(BIN)/python -m venv --clear .venv/audit
	.venv/audit/bin/pip install --upgrade 'pip>=25.1'
	.venv/audit/bin/pip install --group audit
	@touch $@

# Strict: a package that the service doesn't know is no package without faults.
audit: .venv/audit/installed ## ask for known vulnerabilities of what is pinned (needs a network)
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement requirements.txt

links: book ## try the links to other sites (needs a network)
	@$(ALONE) $(BIN)/jupyter-book build . --builder linkcheck; status=$$?; \
		rm -f _build/html/output.txt _build/html/output.json; exit $$status

lab: $(INSTALLED) ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab notebooks

lock: ## compile requirements.txt from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --all-extras --group book --group test --group lint \
		--universal --python-version 3.11 --fork-strategy fewest --prerelease disallow --annotation-style line \
		$(GPU:%=--no-emit-package %) --custom-compile-command "make lock" --quiet \
		--output-file requirements.txt

clean: ## remove what was built and installed
	rm -rf _build .venv mutants tests/lighthouse/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
