# make demo   crawl the bundled site, or URL=https://..., and show a page before and after
# make test   check style and types, and run the tests
# make quick  check style and types, and run the tests that need no crawl, service or browser
# make docs   build the documents as a site, out/docs; each broken link is an error
# make clean  remove the files that building and running leave behind; make distclean also removes .venv
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
UV := VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet
FEED := out/demo.jsonl
CORE := setup.py $(wildcard scrapy_pagelets/core/*.pyx scrapy_pagelets/core/*.pxd scrapy_pagelets/core/*.hpp)
URL ?=
export URL

.PHONY: demo test quick docs compiler parts clean distclean

# The first suitable Python; an active virtualenv makes no difference.
define FIND_PYTHON
for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && break; python=; \
done
endef

# Install packages of Debian, or say which are needed.
define INSTALL
install() { \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then echo "Please install: $$*" >&2; exit 1; fi; \
	echo "Installing $$* with apt-get ..."; \
	apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$$@" >/dev/null; \
}
endef

$(VENV)/.made:
	@set -e; $(INSTALL); \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		$(FIND_PYTHON); \
		if [ -z "$$python" ]; then install python3 python3-venv; $(FIND_PYTHON); fi; \
		if [ -z "$$python" ]; then echo "Python 3.11 to 3.14 is required: install one, or set PYTHON=..." >&2; exit 1; fi; \
		if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
			install "$$("$$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"; \
		fi; \
		echo "Creating $(VENV) with $$("$$python" --version) ..."; \
		"$$python" -m venv --clear $(VENV); \
		$(PIP) install --quiet --upgrade pip; \
	fi; \
	touch $@

$(VENV)/.installed: pyproject.toml $(CORE) | $(VENV)/.made compiler
	@echo "Installing scrapy-pagelets and its dependencies, and compiling its core: three to ten minutes, the first time ..."
	@$(PIP) install --quiet --editable '.[archive,corpus]'
	@touch $@

# Most modules of so many packages are never imported: Python compiles those that are. Where uv does not reach an index
# that pip is told of, pip installs them, in twice the time.
$(VENV)/.installed-dev: pyproject.toml $(CORE) | $(VENV)/.made compiler
	@echo "Installing scrapy-pagelets and its development dependencies ..."
	@$(PIP) install --quiet uv
	@$(UV) --editable '.[dev]' || $(PIP) install --quiet --no-compile --editable '.[dev]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	@mkdir -p $(dir $(FEED))
	@if [ -n "$$URL" ]; then \
		echo "Crawling 60 pages of $$URL at the pace that the site allows: a minute or two."; \
		$(BIN)/pagelets crawl "$$URL" --pages 60 -o $(FEED) --log $(FEED:.jsonl=.log); \
	else \
		echo "Crawling a bundled site of 35 pages on loopback: about ten seconds."; \
		$(BIN)/python tests/server.py tests/site -- $(BIN)/pagelets crawl '{url}index.html' -o $(FEED) --log $(FEED:.jsonl=.log); \
	fi
	@echo "pagelets is $(BIN)/pagelets here"

# The core is compiled; by the tests once more, with the sanitizers of GCC.
define COMPILES
command -v cc >/dev/null && echo '#include <Python.h>' | \
	c++ -fsyntax-only -x c++ -I"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')" - 2>/dev/null
endef

compiler: | $(VENV)/.made
	@set -e; $(INSTALL); \
	if ! { $(COMPILES); }; then \
		install g++ "$$($(BIN)/python -c 'import sys; print("python%d.%d-dev" % sys.version_info[:2])')"; \
		$(COMPILES) || { echo "The C++ compiler does not work." >&2; exit 1; }; \
	fi

# What the tests use: a real browser, Spark on Java, PostgreSQL, Redis, and Valgrind, which counts instructions.
# One call of apt-get installs what is missing, while pip does its work.
parts: compiler
	@set -e; $(INSTALL); missing=(); \
	needs() { "$$2" >/dev/null 2>&1 || missing+=("$$1"); }; \
	browser() { \
		command -v chromium-headless-shell || command -v chromium || command -v google-chrome || \
			ls ~/.cache/ms-playwright/chromium*; \
	}; \
	java17() { java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | grep -qE '^(1[7-9]|[2-9][0-9])$$'; }; \
	database() { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }; \
	redis() { command -v redis-server; }; \
	callgrind() { command -v callgrind_control; }; \
	needs chromium-headless-shell browser; needs default-jre-headless java17; needs postgresql database; \
	needs redis-server redis; needs valgrind callgrind; \
	if [ $${#missing[@]} -gt 0 ]; then \
		install "$${missing[@]}" || install "$${missing[@]/chromium-headless-shell/chromium}"; \
	fi

# Run the second command, and the first one in another process beside it, whose output comes last; fail if one fails.
define BESIDE
beside=$$(mktemp); ( set -x; $(1) ) >$$beside 2>&1 & \
( set -x; $(2) ); code=$$?; wait $$! || code=$$?; cat $$beside; rm $$beside; exit $$code
endef
DOCS := $(BIN)/python -m sphinx -W --keep-going -q -b html docs out/docs

docs: $(VENV)/.installed-dev
	$(DOCS)

# The tests of a file share its crawls, jobs and rendered pages, and so are run by one process, as they come.
test:
	@$(MAKE) --no-print-directory -j2 $(VENV)/.installed-dev parts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(call BESIDE,$(BIN)/mypy; code=$$?; $(DOCS) && exit $$code,$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder)

quick: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(call BESIDE,$(BIN)/mypy,$(BIN)/pytest -n 3 --dist worksteal -q --hypothesis-profile quick tests/unit)

clean:
	rm -rf out build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -path ./.data -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) scrapy_pagelets/core/*.cpp scrapy_pagelets/core/*.so
