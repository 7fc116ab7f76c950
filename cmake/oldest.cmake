# SPDX-License-Identifier: Apache-2.0
# Builds for the oldest C library that the tarball runs with: CRASHHOOK_SYSROOT holds the
# headers and libraries of that distribution (packaging/oldest-sysroot).
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CRASHHOOK_SYSROOT)
set(CMAKE_SYSROOT ${CRASHHOOK_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CRASHHOOK_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CRASHHOOK_SYSROOT}/usr/lib/x86_64-linux-gnu/pkgconfig:${CRASHHOOK_SYSROOT}/usr/share/pkgconfig)
