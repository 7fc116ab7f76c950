# SPDX-License-Identifier: Apache-2.0
# What goes into programs and into the builds of others: libraries and agent, which need libc
# alone. On a processor that the handler does not know, the libraries are stubs.
include(CheckCSourceCompiles)

check_c_source_compiles("
    #if !(defined __x86_64__ && !defined __ILP32__) && !defined __aarch64__
    #error no handler
    #endif
    int main(void) { return 0; }" CRASHHOOK_HAS_HANDLER)

set(ch_embedded_folders handler flight)
if(NOT CRASHHOOK_HAS_HANDLER)
    message(STATUS "crashhook: no handler for this processor (${CMAKE_SYSTEM_PROCESSOR}); "
        "crashhook_install() will return ENOTSUP")
    set(CRASHHOOK_WITH_AGENT OFF)
endif()
if(CRASHHOOK_WITH_AGENT)
    set(CRASHHOOK_WITH_LIBUNWIND OFF)
    # An agent that is not static starts later, and not in an empty root.
    set(CMAKE_REQUIRED_LINK_OPTIONS -static)
    check_c_source_compiles("int main(void) { return 0; }" CRASHHOOK_LINKS_STATIC)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(NOT CRASHHOOK_LINKS_STATIC AND NOT CRASHHOOK_AGENT_MUSL)
        message(STATUS "crashhook: the agent is linked with shared libraries, because there is "
            "no static libc (Fedora: glibc-static)")
    endif()
    list(PREPEND ch_embedded_folders base formats unwind images languages report)
    list(APPEND ch_embedded_folders agent)
endif()

if(ch_embedded)
    # Checkers that the other project runs on its own files, and its suffix for libraries.
    foreach(checker CLANG_TIDY CPPCHECK CPPLINT INCLUDE_WHAT_YOU_USE)
        set(CMAKE_C_${checker} "")
    endforeach()
    set(CMAKE_DEBUG_POSTFIX "")
    add_compile_options(${ch_uninstrumented})
    add_link_options(${ch_uninstrumented})
endif()

add_compile_options("$<$<COMPILE_LANGUAGE:C>:SHELL:-include \"${PROJECT_SOURCE_DIR}/shared/newer_calls.h\">")
