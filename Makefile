# SPDX-License-Identifier: Apache-2.0
# A thin front of CMake and the test driver. PRESET is one of CMakePresets.json.

PRESET ?= release
BUILD = $(if $(filter release,$(PRESET)),build,build-$(PRESET))
PREFIX ?= /usr/local
GENERATOR = $(if $(shell command -v ninja),CMAKE_GENERATOR=Ninja)

.DELETE_ON_ERROR:
.PHONY: all setup build demo check check-all install clean help
all: build

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12

setup: ## install the packages that building and testing need (Debian 12)
	@utils/setup

build: ## configure and build into build/ (PRESET=asan: build-asan/)
	@test -f $(BUILD)/CMakeCache.txt || $(GENERATOR) cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD)

demo: setup ## run a model from ONNX to every target
	@$(MAKE) --no-print-directory build
	@examples/demo.sh

check: setup ## run all tests
	@$(MAKE) --no-print-directory build
	@test/run --build $(BUILD)

check-all: ## run all tests, again with sanitizers, and the expanded functions on every f32
	@utils/setup --all
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory check PRESET=asan
	@$(BUILD)/test/unit/expand_accuracy --all

install: build ## install into PREFIX
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove everything that was built
	@rm -rf build build-debug build-asan build-fuzz
