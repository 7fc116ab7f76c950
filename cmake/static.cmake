# SPDX-License-Identifier: Apache-2.0
# Builds what is in the tarball with the archives that packaging/static-libraries made in
# CRASHHOOK_LIBRARIES: static programs with musl or, if CRASHHOOK_SYSROOT is set, what needs
# the glibc of that folder (packaging/oldest-sysroot). CRASHHOOK_MACHINE is x86_64 or aarch64.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CRASHHOOK_LIBRARIES CRASHHOOK_SYSROOT CRASHHOOK_MACHINE)
if(NOT CRASHHOOK_MACHINE STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
    set(CMAKE_SYSTEM_NAME Linux)
    set(CMAKE_SYSTEM_PROCESSOR ${CRASHHOOK_MACHINE})
    set(tools ${CRASHHOOK_MACHINE}-linux-gnu-)
endif()
set(CMAKE_LIBRARY_ARCHITECTURE ${CRASHHOOK_MACHINE}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${CRASHHOOK_LIBRARIES})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${CRASHHOOK_LIBRARIES}/lib/pkgconfig)
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${CRASHHOOK_LIBRARIES}/include)
# Archives stand after whatever refers to them.
set(CMAKE_C_STANDARD_LIBRARIES
    "-L${CRASHHOOK_LIBRARIES}/lib -ldw -lelf -llzma -lz -lzstd -ldl -lm -lpthread -lrt")
if(CRASHHOOK_SYSROOT)
    set(CMAKE_C_COMPILER ${tools}gcc)
    set(CMAKE_CXX_COMPILER ${tools}g++)
    set(CMAKE_SYSROOT ${CRASHHOOK_SYSROOT})
else()
    set(CMAKE_C_COMPILER ${CRASHHOOK_LIBRARIES}/bin/static-gcc)
    set(CRASHHOOK_STATIC ON)
    set(CRASHHOOK_WITH_MUSL OFF)
endif()
