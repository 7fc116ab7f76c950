# SPDX-License-Identifier: Apache-2.0
# Hardens what is installed. The flags that the compiler knows precede the builder's own flags,
# which therefore prevail. Builds with a sanitizer, with counters or for fuzzing are not hardened.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(ch_hardening)
set(ch_hardening_link)
if(NOT CRASHHOOK_SANITIZER AND NOT CRASHHOOK_COVERAGE AND NOT CRASHHOOK_FUZZ)
    # clang takes flags of other processors, and warns of them.
    set(CMAKE_REQUIRED_FLAGS -Werror)
    foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full
                 -mbranch-protection=standard)
        string(MAKE_C_IDENTIFIER "CH_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known})
        if(${known})
            list(APPEND ch_hardening ${flag})
        endif()
    endforeach()
    unset(CMAKE_REQUIRED_FLAGS)
    # glibc warns if nothing is optimized, and the compiler if the macro is defined twice.
    string(TOUPPER "CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}" flags_of_type)
    set(flags "${CMAKE_C_FLAGS} ${${flags_of_type}}")
    if(flags MATCHES "-O[1-3sgz]" AND NOT flags MATCHES "_FORTIFY_SOURCE")
        list(APPEND ch_hardening -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    endif()
    set(ch_hardening_link -Wl,-z,relro -Wl,-z,now)
endif()
list(JOIN ch_hardening " " ch_hardening)
list(JOIN ch_hardening_link " " ch_hardening_link)

# ch_add_hardened(FOLDER OPTIONS...): add_subdirectory with these flags.
function(ch_add_hardened folder)
    set(CMAKE_C_FLAGS "${ch_hardening} ${CMAKE_C_FLAGS}")
    # Assembler files define their property note by the same flags (handler/machine/machine_marks.h).
    set(CMAKE_ASM_FLAGS "${CMAKE_C_FLAGS} ${CMAKE_ASM_FLAGS}")
    foreach(kind EXE SHARED MODULE)
        set(CMAKE_${kind}_LINKER_FLAGS "${ch_hardening_link} ${CMAKE_${kind}_LINKER_FLAGS}")
    endforeach()
    add_subdirectory(${folder} ${ARGN})
endfunction()
