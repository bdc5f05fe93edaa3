# Of targets that can do several things at a time.
JOBS ?= 1
# Build output is outside the checkout, so a new clone reuses it.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/labelflow/target

.DEFAULT_GOAL := help
.PHONY: help demo test las-test check wheel docs table1 table2 table3 table4 uncertainty beyond label-models hyper-model growth bench bench-peers

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Train on embedded data and compare with simpler methods
	cargo run --release --bin labelflow -- demo

test: nextest ## Run all tests, including those of the Python package and of pages in a browser
	cargo nextest run --workspace --no-fail-fast $(if $(LABELFLOW_DATA),--profile real-data)
	cargo test --workspace --doc --quiet
	$(MAKE) browser-test
	$(MAKE) python-test

# The extension is compiled like the tests, so that both share all dependencies: see tools/pack_wheel.py.
PYTHON ?= python3
PYTHON_TESTS = $(CARGO_TARGET_DIR)/python-tests
PYTHON_TEST_TOOLS = numpy pytest pandas polars pyarrow scikit-learn scipy markdown 'dask[dataframe]' duckdb datafusion

.PHONY: python-package
python-package:
	cargo build --workspace --lib --bins --tests --quiet
	rm -rf $(PYTHON_TESTS) && $(PYTHON) -m venv $(PYTHON_TESTS)
	$(PYTHON_TESTS)/bin/pip install --quiet --disable-pip-version-check $(PYTHON_TEST_TOOLS)
	$(PYTHON) tools/pack_wheel.py $(CARGO_TARGET_DIR)/debug $(PYTHON_TESTS)/wheel
	$(PYTHON_TESTS)/bin/pip install --quiet --disable-pip-version-check --no-deps $(PYTHON_TESTS)/wheel/*.whl

.PHONY: python-test
python-test: python-package
	LABELFLOW_BINARY=$(CARGO_TARGET_DIR)/debug/labelflow \
		$(PYTHON_TESTS)/bin/python -m pytest -q -rs -p no:cacheprovider bindings/python/tests

.PHONY: attack
attack: python-package ## Give every command tables whose rows, columns, keys or parts do not fit, and count wrong answers (minutes)
	$(PYTHON_TESTS)/bin/python tools/attack.py $(CARGO_TARGET_DIR)/debug/labelflow

# Not part of `make test`, which reports them as skipped: they need half a gigabyte of packages per Spark, and Java.
ENGINE_TESTS = $(CARGO_TARGET_DIR)/engine-tests
SPARKS ?= 3.5 4
.PHONY: test-engines
test-engines: ## Run the tests of labelflow.spark on Spark 3.5 and 4 and of labelflow.ray (installs them in a cache folder; needs Java 17)
	cargo build --workspace --lib --bins --tests --quiet
	$(PYTHON) tools/pack_wheel.py $(CARGO_TARGET_DIR)/debug $(ENGINE_TESTS)/wheel
	for spark in $(SPARKS); do $(MAKE) engine-test SPARK=$$spark || exit 1; done

.PHONY: engine-test
engine-test: $(ENGINE_TESTS)/spark-$(SPARK)/ready
	$(ENGINE_TESTS)/spark-$(SPARK)/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(ENGINE_TESTS)/wheel/*.whl
	$(ENGINE_TESTS)/spark-$(SPARK)/bin/python -m pytest -q -rs -p no:cacheprovider bindings/python/tests/batches

# Ray comes with the latest Spark alone: it does not depend on it.
$(ENGINE_TESTS)/spark-$(SPARK)/ready: Makefile
	rm -rf $(ENGINE_TESTS)/spark-$(SPARK) && $(PYTHON) -m venv $(ENGINE_TESTS)/spark-$(SPARK)
	$(ENGINE_TESTS)/spark-$(SPARK)/bin/pip install --quiet --disable-pip-version-check 'pyspark==$(SPARK).*' numpy pandas pyarrow pytest \
		$(if $(filter 4,$(SPARK)),'ray[data]')
	touch $@

# Tests write the pages, so nothing is compiled twice.
BROWSER_TESTS = $(CARGO_TARGET_DIR)/browser-tests

.PHONY: browser-test
browser-test: nextest
ifdef LABELFLOW_SKIP_BROWSER
	@echo "SKIPPED: LABELFLOW_SKIP_BROWSER is set, and no page was opened in a browser"
else
	cargo nextest run --workspace page_for_the_browser
	tools/browser_tests/install_browser.sh
	$(MAKE) $(BROWSER_TESTS)/ready
	LABELFLOW_PAGE=$(CARGO_TARGET_DIR)/tmp/cloud_page.html LABELFLOW_REPORT=$(CARGO_TARGET_DIR)/tmp/report_page.html \
		$(BROWSER_TESTS)/bin/python -m pytest -q -p no:cacheprovider tools/browser_tests
endif

$(BROWSER_TESTS)/ready: Makefile
	rm -rf $(BROWSER_TESTS) && $(PYTHON) -m venv $(BROWSER_TESTS)
	$(BROWSER_TESTS)/bin/pip install --quiet --disable-pip-version-check 'selenium>=4.20,<5' pytest
	touch $@

# Not part of `make test`: the feature changes features of dependencies of the tensor library, which would be compiled again.
las-test: nextest ## Run the tests of LAS and LAZ files (compiles for minutes)
	cargo nextest run -p labelflow-clouds --features las -E 'test(las_file) + test(cloud_file)'

docs: python-test ## Write the Python API reference from the docstrings, and the book as pages in target/docs
	$(PYTHON_TESTS)/bin/python tools/api_reference.py
	$(PYTHON_TESTS)/bin/python tools/build_docs.py target/docs

# A wheel for GPUs is built on the machine that uses it: FEATURES=cuda or FEATURES=wgpu. It includes the libraries that it needs beside CUDA's, which takes patchelf.
WHEEL_TOOLS = $(CARGO_TARGET_DIR)/wheel-tools
wheel: ## Build the Python wheel for users, in target/wheels (FEATURES=cuda or wgpu for GPUs)
	$(PYTHON) -m venv $(WHEEL_TOOLS)
	$(WHEEL_TOOLS)/bin/pip install --quiet --disable-pip-version-check 'maturin[patchelf]>=1.9.4,<2'
	PATH="$(WHEEL_TOOLS)/bin:$$PATH" maturin build --release --manifest-path bindings/python/Cargo.toml $(if $(FEATURES),--features $(FEATURES)) --out target/wheels

# One process per test, since burn keeps its float type for the whole process.
.PHONY: nextest
nextest:
	@cargo nextest --version >/dev/null 2>&1 || cargo install --locked cargo-nextest

# cargo fmt does not see modules that a macro declares.
FILES_OF_MACROS = $(wildcard crates/labelflow-data/src/catalog/sets/*/*.rs crates/labelflow-weak/src/label_models/models/*.rs)

check: ## Check format, lints, documentation and dependencies
	cargo fmt --all --check
	rustfmt --check --edition 2024 $(FILES_OF_MACROS)
	cargo clippy --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
	$(PYTHON) tools/public_api.py --check
	$(MAKE) deny

# Advisories are in a database on the network; everything else is checked without it.
.PHONY: deny
deny: ## Check licences, advisories, sources and versions of dependencies, and that each has a reason in docs/dependencies.md
	$(PYTHON) tools/check_dependencies.py
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny
	cargo deny --log-level error check --hide-inclusion-graph licenses bans sources
	@if cargo deny --log-level error fetch db >/dev/null 2>&1; then \
		cargo deny --log-level error --offline check --hide-inclusion-graph advisories; \
	else \
		echo "SKIPPED: the advisory database cannot be reached: advisories were NOT checked" >&2; \
	fi

# Half of the kills in training, half in commands that write.
KILLS ?= 300
SWAPS ?= 5000
.PHONY: kill-test
kill-test: nextest ## Kill training and every command that writes KILLS times at random moments (300), and replace a model SWAPS times while it is read (5000); a few minutes
	LABELFLOW_KILLS=$$(( $(KILLS) / 2 )) LABELFLOW_SWAPS=$(SWAPS) cargo nextest run --workspace --success-output immediate -E 'binary(kills) + test(swapped_while_it_is_read)'

# Fuzzing saved models compiles the tensor library, which takes long: FUZZ="--no-models" leaves them out, FUZZ="--targets csv,ply" chooses,
# FUZZ="--sanitizer none" is four times as fast.
MINUTES ?= 10
FUZZ ?=
.PHONY: fuzz
fuzz: ## Fuzz every reader and saved models, MINUTES=10 each, JOBS=1 at a time (nightly compiler, cargo-fuzz; compiles for long)
	@cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
	$(PYTHON) tools/fuzz.py --minutes $(MINUTES) --jobs $(JOBS) $(FUZZ)

.PHONY: test-devices
test-devices: nextest ## Run the tests of GPUs (FEATURES=cuda or wgpu, on a machine with a GPU)
	cargo nextest run --release -p labelflow --test devices --features "$(FEATURES)" --success-output immediate

# The files with unsafe blocks are compiled by themselves in tools/unsafe_blocks: the tensor library would take ten minutes with the address
# sanitizer, and longer for Miri. Which of them are covered by what: docs/measurements/reliability.md.
SANITIZE = RUSTFLAGS=-Zsanitizer=address cargo +nightly test --target x86_64-unknown-linux-gnu
SANITIZE_PYTHON = $(CARGO_TARGET_DIR)/sanitize-python

.PHONY: sanitize
sanitize: ## Run the tests of unsafe blocks with the address sanitizer (nightly compiler, Python as a shared library; a minute)
	$(PYTHON) -m venv $(SANITIZE_PYTHON) && $(SANITIZE_PYTHON)/bin/pip install --quiet --disable-pip-version-check numpy
	cd tools/unsafe_blocks && PYO3_PYTHON=$(SANITIZE_PYTHON)/bin/python ASAN_OPTIONS=detect_leaks=0 \
		PYTHONPATH=$$($(SANITIZE_PYTHON)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") \
		LD_LIBRARY_PATH=$$($(PYTHON) -c "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))") $(SANITIZE) --features python

.PHONY: sanitize-flow
sanitize-flow: ## Run all tests of the fused operations and of recordings with the address sanitizer (nightly compiler; compiles for ten minutes)
	$(SANITIZE) -p labelflow-flow --lib --test fused

.PHONY: miri
miri: ## Run the tests of unsafe blocks under Miri, but for those in Python's memory (nightly compiler with miri and rust-src; a minute)
	cd tools/unsafe_blocks && cargo +nightly miri test fused::matmul

# Finished runs are kept, so an interrupted table resumes. JOBS=8 makes eight runs at a time.
RUN = cargo run --release --quiet --bin labelflow -- run --jobs $(JOBS)
REPORT = cargo run --release --quiet --bin labelflow -- report

table1: ## Run the paper's first table: eleven sets, five seeds (LABELFLOW_DATA names the data; hours on a CPU)
	$(RUN) runs/table1/*.toml --keep target/table1 --json target/table1.json; status=$$?; \
		test $$status -le 1 && $(REPORT) target/table1.json && exit $$status

table2: ## Run the paper's second table: three sets of texts, five seeds (LABELFLOW_DATA names the data; hours on a CPU)
	$(RUN) runs/table2/*.toml --keep target/table2 --json target/table2.json; status=$$?; \
		test $$status -le 1 && $(REPORT) target/table2.json && exit $$status

table3: ## Run the paper's third table: regression from rules on three sets, five seeds (LABELFLOW_DATA names the data)
	$(RUN) runs/table3/*.toml --keep target/table3 --json target/table3.json; status=$$?; \
		test $$status -le 1 && $(REPORT) target/table3.json && exit $$status

# llf, llf-wo-nll and the references take hours on a CPU; the other systems are for a GPU.
SYSTEMS ?=

table4: ## Run the paper's fourth table: completion by all systems, with simple references (SYSTEMS=llf,copy-input,… chooses; MINUTES_EACH=10 limits the training of each; LABELFLOW_DATA names the data)
	$(RUN) runs/table4/*.toml $(if $(SYSTEMS),--systems $(SYSTEMS)) $(if $(MINUTES_EACH),--max-minutes $(MINUTES_EACH)) --keep target/table4 --models target/table4-models --json target/table4.json; status=$$?; \
		test $$status -le 1 && $(REPORT) target/table4.json && exit $$status

uncertainty: ## Compare ways to calibrate on the eleven sets of the first table, five seeds (LABELFLOW_DATA names the data; a day on a CPU)
	$(RUN) runs/uncertainty/*.toml --keep target/uncertainty --models target/uncertainty-models --json target/uncertainty.json && \
		$(REPORT) target/uncertainty.json

beyond: ## Compare flows with majority vote on ten classes, and on texts with sparse rules
	cargo run --release --quiet --bin labelflow -- run runs/beyond/*.toml --keep target/beyond --json target/beyond.json

rules: ## Compare the ensemble with two-stage and one-stage systems on six sets of texts with rules (LABELFLOW_DATA names the data; an hour)
	$(RUN) runs/rules/*.toml --keep target/rules --json target/rules.json && $(REPORT) target/rules.json

label-models: ## Compare label models on rules, crowds and ten kinds of planted votes (LABELFLOW_DATA names the data; minutes)
	$(RUN) runs/label-models/*.toml --keep target/label-models --json target/label-models.json; status=$$?; \
		test $$status -le 1 && $(PYTHON) tools/label_model_table.py target/label-models.json && exit $$status

HYPER_TOOLS = $(CARGO_TARGET_DIR)/hyper-tools
hyper-model: ## Train the label model `hyper` on synthetic votes and write its weights (installs PyTorch in a cache folder; minutes on a GPU, hours without)
	$(PYTHON) -m venv $(HYPER_TOOLS)
	$(HYPER_TOOLS)/bin/pip install --quiet --disable-pip-version-check torch numpy
	$(HYPER_TOOLS)/bin/python tools/hyper_model/train.py

growth: ## Measure time and memory of an epoch for 1k, 10k and 100k rows, and of label models up to ten million rows
	cargo bench --workspace --bench growth
	python3 tools/bench_label_models.py --growth

bench: ## Run criterion benches of training steps, prediction, completion and label statistics
	cargo bench --workspace --bench learner --bench completion --bench label_statistics

bench-peers: ## Compare time and memory with plain PyTorch, Snorkel, crowd-kit and FlyingSquid (installs them in a cache folder)
	python3 tools/bench_peers.py --json target/bench-peers.json
	python3 tools/bench_label_models.py --json target/bench-label-models.json
