# SPDX-License-Identifier: Apache-2.0
# Build-wide switches and warnings.

# What programs link against: it is raised when a program built before would no longer
# work, and packages and symbol versions carry it.
set(CRASHHOOK_ABI 1)

# Another project's build adds the libraries and the agent, which need libc alone.
# CMake before 3.21 has no PROJECT_IS_TOP_LEVEL.
set(ch_embedded ON)
set(ch_top_level OFF)
if(CMAKE_SOURCE_DIR STREQUAL PROJECT_SOURCE_DIR OR CMAKE_PROJECT_NAME STREQUAL crashhook-collector)
    set(ch_embedded OFF)
    set(ch_top_level ON)
endif()
option(CRASHHOOK_TESTS "build tests and benchmarks" ${ch_top_level})
option(CRASHHOOK_EXAMPLES "build the examples, which the demo and tests crash" ${ch_top_level})
option(CRASHHOOK_WERROR "a warning is an error" ${ch_top_level})
option(CRASHHOOK_LEAVE_OUT_MISSING "build without optional libraries that are missing" OFF)
option(CRASHHOOK_ONLY_HANDLER "build only what goes into programs; it needs libc alone"
    ${ch_embedded})
option(CRASHHOOK_WITH_AGENT "with CRASHHOOK_ONLY_HANDLER: build the agent, too" ${ch_embedded})
# The library looks for the agent in its folder crashhook, if none is beside it.
if(NOT DEFINED CRASHHOOK_LIBEXECDIR)
    set(CRASHHOOK_LIBEXECDIR ${CMAKE_INSTALL_FULL_LIBEXECDIR})
endif()
option(CRASHHOOK_WITH_COLLECTOR "build crashhook-collector" ON)
option(CRASHHOOK_WITH_ZYDIS "decode x86-64 instructions, for what failed and for arguments" ON)
option(CRASHHOOK_WITH_CAPSTONE "decode AArch64 instructions, where Capstone's headers are installed" ON)
option(CRASHHOOK_WITH_LIBUNWIND "unwind by libunwind where CRASHHOOK_UNWIND asks for it" ON)
option(CRASHHOOK_WITH_POSTGRESQL "let the collector keep reports in PostgreSQL" ON)
option(CRASHHOOK_WITH_LZMA "read symbols in .gnu_debugdata, which are packed by xz" ON)
option(CRASHHOOK_WITH_MUSL "build the agent with musl, which starts sooner, where it is installed" ON)
option(CRASHHOOK_STATIC "link libcurl and Zydis, which are loaded otherwise, for static programs" OFF)
option(CRASHHOOK_COVERAGE "count which lines tests run (gcc)" OFF)
option(CRASHHOOK_FUZZ "build libFuzzer targets (clang alone)" OFF)
set(CRASHHOOK_CONTACT "" CACHE STRING "whom to write to about this build; `crashhook --version` says it")
set(CRASHHOOK_SANITIZER "" CACHE STRING "address,undefined or thread; empty: none")

# Another project's flags may make errors of warnings that are none of its business.
if(ch_embedded)
    add_compile_options(-w)
else()
    add_compile_options(
        -Wall -Wextra $<$<BOOL:${CRASHHOOK_WERROR}>:-Werror> -Wshadow -Wundef -Wformat=2 -Wwrite-strings
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
        $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
        $<$<COMPILE_LANGUAGE:C>:-Wold-style-definition>)
endif()
add_compile_options(-fno-omit-frame-pointer)

# Where another C library is, for the tarball; the agent has musl's.
set(CRASHHOOK_LINK_OPTIONS "" CACHE STRING "options of every link but that of an agent with musl")
add_link_options(${CRASHHOOK_LINK_OPTIONS})

if(CRASHHOOK_COVERAGE)
    # Not --coverage: gcc puts what that stands for last, where no -fno- can undo it.
    add_compile_options(-fprofile-arcs -ftest-coverage -fprofile-update=atomic)
    add_compile_definitions(CRASHHOOK_COUNTED=1)
    add_compile_options(
        "$<$<COMPILE_LANGUAGE:C>:SHELL:-include ${PROJECT_SOURCE_DIR}/tests/coverage_exit.h>")
    add_link_options(--coverage)
endif()

if(CRASHHOOK_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(CRASHHOOK_SANITIZER)
    add_compile_options(-fsanitize=${CRASHHOOK_SANITIZER} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${CRASHHOOK_SANITIZER})
    add_compile_definitions(CRASHHOOK_SANITIZED=1)
else()
    add_compile_definitions(CRASHHOOK_SANITIZED=0)
endif()

# Options of what is linked into programs that are not ours: it is never instrumented, and
# `ld -r` makes objects of it, whatever the flags of the build ask for.
include(CheckCCompilerFlag)
set(ch_uninstrumented)
foreach(flag -fno-sanitize=all -fno-profile-arcs -fno-test-coverage -fno-profile-instr-generate
             -fno-coverage-mapping -fno-instrument-functions -fno-lto)
    string(MAKE_C_IDENTIFIER "CH_HAS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
        list(APPEND ch_uninstrumented ${flag})
    endif()
endforeach()

# The agent is built with musl if gcc can do so beside glibc, and without sanitizers and counters.
set(CRASHHOOK_AGENT_MUSL OFF)
if(CRASHHOOK_WITH_MUSL AND CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CROSSCOMPILING AND
        NOT CRASHHOOK_SANITIZER AND NOT CRASHHOOK_COVERAGE)
    string(REPLACE gnu musl musl_libraries /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
    find_file(CRASHHOOK_MUSL_SPECS musl-gcc.specs PATHS ${musl_libraries} NO_DEFAULT_PATH)
    if(CRASHHOOK_MUSL_SPECS)
        set(CRASHHOOK_AGENT_MUSL ON)
    endif()
endif()
