# SPDX-License-Identifier: Apache-2.0
#
# crashhook_index(TARGET [CACHE FOLDER]): makes the symbol cache of a program or library each time it
# is linked, so that its first crash is symbolized as fast as a later one. The cache belongs to the
# build ID: it also serves the file that is stripped or installed later. FOLDER is, by default, where
# `crashhook symbols index` puts it. A build without the command, or whose target has no debug
# information, goes on.
function(crashhook_index target)
    cmake_parse_arguments(index "" CACHE "" ${ARGN})
    find_program(CRASHHOOK_COMMAND crashhook HINTS "${_crashhook_prefix}/bin")
    if(NOT CRASHHOOK_COMMAND)
        message(STATUS "crashhook_index(${target}): no crashhook command; set CRASHHOOK_COMMAND to it")
        return()
    endif()
    set(cache)
    if(index_CACHE)
        set(cache --cache "${index_CACHE}")
    endif()
    add_custom_command(TARGET ${target} POST_BUILD VERBATIM
        COMMAND sh -c "\"$@\" || exit 0" sh "${CRASHHOOK_COMMAND}" symbols index ${cache}
            "$<TARGET_FILE:${target}>")
endfunction()
