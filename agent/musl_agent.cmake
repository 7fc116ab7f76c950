# SPDX-License-Identifier: Apache-2.0
# The agent with musl's libc, and so all that it links once more. A static program of
# glibc's executes cpuid 68 times before main; a hypervisor traps each of these, and on
# a virtual machine that was half a millisecond of every crash. musl's has none.
if(CRASHHOOK_LINK_OPTIONS)
    set_target_properties(crashhook-agent PROPERTIES LINK_OPTIONS "")
endif()
set(sources)
foreach(part ch_agent_program ch_agent ch_languages ch_images ch_report_raw ch_unwind ch_formats ch_base)
    get_target_property(folder ${part} SOURCE_DIR)
    get_target_property(files ${part} SOURCES)
    list(TRANSFORM files PREPEND ${folder}/)
    if(part STREQUAL ch_agent_program)
        target_sources(crashhook-agent PRIVATE ${files})
    else()
        list(APPEND sources ${files})
    endif()
endforeach()
add_library(ch_agent_musl STATIC ${sources})
target_sources(ch_agent_musl PRIVATE musl/musl_heap.c)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    target_sources(ch_agent_musl PRIVATE musl/musl_memory.c)
    set_source_files_properties(musl/musl_memory.c PROPERTIES COMPILE_OPTIONS
        -fno-tree-loop-distribute-patterns)
endif()
target_link_libraries(crashhook-agent PRIVATE ch_agent_musl)
if(NOT CRASHHOOK_ONLY_HANDLER)
    # What these archives, made with glibc's headers, ask of libc musl has, too.
    foreach(name deflate zstd)
        find_library(CRASHHOOK_${name}_ARCHIVE lib${name}.a REQUIRED)
        target_link_libraries(crashhook-agent PRIVATE ${CRASHHOOK_${name}_ARCHIVE})
    endforeach()
endif()
if(CRASHHOOK_WITH_LIBUNWIND)
    # A file of the program itself, which is linked before any archive is searched.
    target_sources(crashhook-agent PRIVATE musl/musl_crc64.c)
    # Debian's archives of libunwind, made with glibc's headers, ask for nothing that
    # musl has not: where that is different, crashhook-agent does not link.
    foreach(name unwind-ptrace unwind-${CMAKE_SYSTEM_PROCESSOR} unwind lzma)
        find_library(CRASHHOOK_${name}_ARCHIVE lib${name}.a REQUIRED)
        target_link_libraries(crashhook-agent PRIVATE ${CRASHHOOK_${name}_ARCHIVE})
    endforeach()
endif()

# gcc with these specs looks in no folder but musl's own: it is shown headers of the
# kernel's and of the libraries, and not those of glibc that are in the same folders.
set(headers ${CMAKE_CURRENT_BINARY_DIR}/musl-headers)
file(MAKE_DIRECTORY ${headers})
foreach(name linux asm-generic)
    file(CREATE_LINK /usr/include/${name} ${headers}/${name} SYMBOLIC)
endforeach()
file(GLOB found /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/asm
    /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/libunwind*.h
    /usr/include/libdeflate.h /usr/include/zstd*.h)
foreach(path ${found})
    get_filename_component(name ${path} NAME)
    file(CREATE_LINK ${path} ${headers}/${name} SYMBOLIC)
endforeach()
foreach(target ch_agent_musl crashhook-agent)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE
        CRASHHOOK_VERSION="${PROJECT_VERSION}")
    target_compile_options(${target} PRIVATE -specs=${CRASHHOOK_MUSL_SPECS} -isystem
        ${headers} -fdata-sections)
    # Checkers read these files as they are compiled for the other programs.
    set_target_properties(${target} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
endforeach()
# Sorted by alignment, large arrays come first and all small variables share few pages:
# each page that is touched takes a crash one to two microseconds.
target_link_options(crashhook-agent PRIVATE -specs=${CRASHHOOK_MUSL_SPECS}
    -Wl,--sort-section=alignment)
