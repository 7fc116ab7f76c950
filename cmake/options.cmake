# SPDX-License-Identifier: Apache-2.0
# Build-wide switches and warnings.

# What programs link against: it is raised when a program built before would no longer
# work, and packages and symbol versions carry it.
set(CRASHHOOK_ABI 1)

# Another project's build adds what goes into programs, which needs libc alone; the agent
# is then that of an installation.
set(part_of_another OFF)
if(NOT PROJECT_IS_TOP_LEVEL)
    set(part_of_another ON)
endif()
option(CRASHHOOK_TESTS "build tests and benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(CRASHHOOK_EXAMPLES "build the examples, which the demo and tests crash"
    ${PROJECT_IS_TOP_LEVEL})
option(CRASHHOOK_WERROR "a warning is an error" ${PROJECT_IS_TOP_LEVEL})
option(CRASHHOOK_LEAVE_OUT_MISSING "build without optional libraries that are missing" OFF)
option(CRASHHOOK_ONLY_HANDLER "build what goes into programs alone; it needs libc alone"
    ${part_of_another})
# The library looks for the agent in its folder crashhook, if none is beside it.
if(NOT DEFINED CRASHHOOK_LIBEXECDIR)
    set(CRASHHOOK_LIBEXECDIR ${CMAKE_INSTALL_FULL_LIBEXECDIR})
    if(CRASHHOOK_ONLY_HANDLER AND part_of_another)
        set(CRASHHOOK_LIBEXECDIR /usr/libexec)
    endif()
endif()
option(CRASHHOOK_WITH_COLLECTOR "build crashhook-collector" ON)
option(CRASHHOOK_WITH_ZYDIS "decode x86-64 instructions, for what failed and for arguments" ON)
option(CRASHHOOK_WITH_LIBUNWIND "unwind by libunwind where CRASHHOOK_UNWIND asks for it" ON)
option(CRASHHOOK_WITH_POSTGRESQL "let the collector keep reports in PostgreSQL" ON)
option(CRASHHOOK_WITH_LZMA "read symbols in .gnu_debugdata, which are packed by xz" ON)
option(CRASHHOOK_WITH_MUSL "build the agent with musl, which starts sooner, where it is installed" ON)
option(CRASHHOOK_COVERAGE "count which lines tests run (gcc)" OFF)
option(CRASHHOOK_FUZZ "build libFuzzer targets (clang alone)" OFF)
set(CRASHHOOK_SANITIZER "" CACHE STRING "address,undefined or thread; empty: none")

add_compile_options(
    -Wall -Wextra $<$<BOOL:${CRASHHOOK_WERROR}>:-Werror> -Wshadow -Wundef -Wformat=2 -Wwrite-strings
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wold-style-definition>
    -fno-omit-frame-pointer)

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

# Options of what is linked into programs that are not ours, and is never instrumented.
set(ch_uninstrumented)
if(CRASHHOOK_SANITIZER)
    set(ch_uninstrumented -fno-sanitize=all)
elseif(CRASHHOOK_COVERAGE)
    set(ch_uninstrumented -fno-profile-arcs -fno-test-coverage)
endif()
