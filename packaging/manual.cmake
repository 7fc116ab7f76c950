# SPDX-License-Identifier: Apache-2.0
# Manual pages and completion, written by the commands themselves out of their tables, so
# that they are true of this build. Without a way to run what was built there are none.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    return()
endif()

set(man ${PROJECT_SOURCE_DIR}/docs/man)
set(share ${PROJECT_BINARY_DIR}/share)
set(written)

# ch_manual(PAGE COMMAND...): PAGE from its template and what COMMAND prints behind it.
function(ch_manual page)
    get_filename_component(section ${page} LAST_EXT)
    string(SUBSTRING ${section} 1 -1 section)
    set(out ${share}/man/man${section}/${page})
    set(rest)
    if(ARGN)
        set(rest COMMAND ${ARGN} >> ${out})
    endif()
    file(MAKE_DIRECTORY ${share}/man/man${section})
    add_custom_command(OUTPUT ${out}
        COMMAND crashhook describe manual ${man}/${page}.in > ${out} ${rest}
        DEPENDS crashhook $<TARGET_NAME_IF_EXISTS:crashhook-collector> ${man}/${page}.in ${public_headers}
                ${CMAKE_CURRENT_SOURCE_DIR}/header-manual.awk
                ${CMAKE_CURRENT_SOURCE_DIR}/help-manual.awk)
    set(written ${written} ${out} PARENT_SCOPE)
    install(FILES ${out} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endfunction()

set(of_headers awk -f ${CMAKE_CURRENT_SOURCE_DIR}/header-manual.awk)
set(headers ${PROJECT_SOURCE_DIR}/include/crashhook)
file(GLOB templates CONFIGURE_DEPENDS ${man}/*.in)
foreach(template ${templates})
    get_filename_component(page ${template} NAME_WLE)
    if(page STREQUAL crashhook.3)
        ch_manual(${page} ${of_headers} ${headers}/crashhook.h)
    elseif(page STREQUAL crashhook-backtrace.3)
        ch_manual(${page} ${of_headers} ${headers}/backtrace.h
            ${headers}/backtrace_values.h ${headers}/backtrace_raw.h
            ${headers}/backtrace_symbols.h)
    elseif(page STREQUAL crashhook-flight.3)
        ch_manual(${page} ${of_headers} ${headers}/flight.h)
    elseif(page STREQUAL crashhook-collector.1)
        if(NOT CRASHHOOK_WITH_COLLECTOR)
            continue()
        endif()
        ch_manual(${page} ${CMAKE_CROSSCOMPILING_EMULATOR}
            $<TARGET_FILE:crashhook-collector> --help |
            awk -f ${CMAKE_CURRENT_SOURCE_DIR}/help-manual.awk)
    else()
        ch_manual(${page})
    endif()
endforeach()

# ch_completion(SHELL FOLDER NAME): what completes crashhook in SHELL.
function(ch_completion shell folder name)
    file(MAKE_DIRECTORY ${share}/${folder})
    add_custom_command(OUTPUT ${share}/${folder}/${name}
        COMMAND crashhook describe ${shell} > ${share}/${folder}/${name}
        DEPENDS crashhook)
    set(written ${written} ${share}/${folder}/${name} PARENT_SCOPE)
    install(FILES ${share}/${folder}/${name}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()
ch_completion(bash bash-completion/completions crashhook)
ch_completion(zsh zsh/vendor-completions _crashhook)

add_custom_target(manual ALL DEPENDS ${written})
