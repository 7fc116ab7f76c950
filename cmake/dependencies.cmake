# SPDX-License-Identifier: Apache-2.0
# Third-party libraries; each is confined to the folder named beside it.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# ch_optional_module(SWITCH PREFIX MODULE): a library that CRASHHOOK_WITH_SWITCH asks for.
macro(ch_optional_module switch prefix module)
    if(CRASHHOOK_WITH_${switch} AND CRASHHOOK_LEAVE_OUT_MISSING)
        pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
        if(NOT ${prefix}_FOUND)
            message(STATUS "left out: ${module} is missing (CRASHHOOK_WITH_${switch})")
            set(CRASHHOOK_WITH_${switch} OFF)
        endif()
    elseif(CRASHHOOK_WITH_${switch})
        pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET ${module})
    endif()
endmacro()

ch_optional_module(LIBUNWIND UNWIND libunwind-ptrace)                   # unwind/
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw libelf)             # symbolizer/
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)                # upload/
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)             # above formats/
if(CRASHHOOK_WITH_COLLECTOR)
    pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd) # collector/
    pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.35)          # collector/
    ch_optional_module(POSTGRESQL PQ libpq)                             # collector/
endif()
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
# libdeflate has a file for pkg-config since 1.9 alone.
find_path(DEFLATE_INCLUDE libdeflate.h REQUIRED)                        # formats/
find_library(DEFLATE_LIBRARY deflate REQUIRED)
file(STRINGS ${DEFLATE_INCLUDE}/libdeflate.h deflate_version REGEX "define LIBDEFLATE_VERSION_STRING")
string(REGEX MATCH "[0-9.]+" deflate_version "${deflate_version}")
if(deflate_version VERSION_LESS 1.7)
    message(FATAL_ERROR "libdeflate 1.7 or newer is needed: ${DEFLATE_INCLUDE} has ${deflate_version}")
endif()
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle>=3.0)          # report/
if(CRASHHOOK_WITH_LZMA)
    pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)            # symbolizer/
endif()
# Debian's Zydis has no file for pkg-config.
if(CRASHHOOK_WITH_ZYDIS)
    find_path(ZYDIS_INCLUDE Zydis/Zydis.h REQUIRED)                     # symbolizer/
    file(STRINGS ${ZYDIS_INCLUDE}/Zydis/Zydis.h zydis_4 REGEX "define ZYDIS_VERSION .*0x0004")
    if(NOT zydis_4)
        message(FATAL_ERROR "Zydis 4 is needed: ${ZYDIS_INCLUDE}/Zydis has another version")
    endif()
endif()
if(CRASHHOOK_WITH_CAPSTONE)
    find_path(CAPSTONE_INCLUDE capstone/capstone.h)                     # symbolizer/
endif()
include(CheckLinkerFlag)
check_linker_flag(CXX -lstdc++exp CRASHHOOK_HAS_STDCXX_EXP)             # std::stacktrace, in tests/ and bench/
if(CRASHHOOK_TESTS)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)           # tests/
endif()
