# Thin: each target calls a script in tools/ or a CMake preset. `make` alone lists them.
.PHONY: help demo test asan fuzz clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    install what is missing, build, and ask the pocket model a question"
	@echo "make test    build and run all tests"
	@echo "make asan    build the unit tests with AddressSanitizer and UBSan, and run them"
	@echo "make fuzz    build the fuzzers (needs clang) and run each for FUZZ_SECONDS=15"
	@echo "make clean   remove build/"

demo:
	@tools/demo.sh

test:
	@tools/setup.sh test
	@tools/build.sh -t release
	@tools/run_tests.sh build/release

asan:
	@tools/setup.sh test
	@tools/build.sh -t asan lirio_unit_tests
	@UBSAN_OPTIONS=print_stacktrace=1 tools/run_tests.sh build/asan unit

FUZZ_SECONDS ?= 15
fuzz:
	@tools/setup.sh ci
	@tools/build.sh fuzz lirio_fuzzers
	@tools/fuzz_smoke.sh build/fuzz $(FUZZ_SECONDS)

clean:
	rm -rf build
