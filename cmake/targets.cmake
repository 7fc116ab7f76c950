# SPDX-License-Identifier: Apache-2.0
# The targets of find_package(crashhook), for a build that this one is part of
# (add_subdirectory, FetchContent): packaging/crashhook-config.cmake.in says what they
# carry.
function(ch_kept_library name library)
    add_library(crashhook_${name}_kept INTERFACE)
    target_include_directories(crashhook_${name}_kept INTERFACE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(crashhook_${name}_kept INTERFACE
        -Wl,--push-state,--no-as-needed ${library} -Wl,--pop-state)
    add_library(crashhook::${name} ALIAS crashhook_${name}_kept)
endfunction()

function(ch_kept_archive name library entry)
    add_library(crashhook_${name}_kept INTERFACE)
    target_include_directories(crashhook_${name}_kept INTERFACE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(crashhook_${name}_kept INTERFACE ${library} -pthread)
    target_link_options(crashhook_${name}_kept INTERFACE -Wl,-u,${entry})
    add_library(crashhook::${name} ALIAS crashhook_${name}_kept)
endfunction()

ch_kept_library(crashhook crashhook_shared)
ch_kept_library(flight crashhook_flight_shared)
ch_kept_archive(crashhook_static crashhook_static crashhook_install)
ch_kept_archive(flight_static crashhook_flight_static crashhook_flight_start)
if(TARGET crashhook_backtrace)
    target_include_directories(crashhook_backtrace INTERFACE ${PROJECT_SOURCE_DIR}/include)
    add_library(crashhook::backtrace ALIAS crashhook_backtrace)
endif()
