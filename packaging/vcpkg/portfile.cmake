# SPDX-License-Identifier: Apache-2.0
# Not built here. The libraries and the agent, which need libc alone; CRASHHOOK_SOURCE is where
# the sources are, for a port without an address to fetch them from.
set(SOURCE_PATH "$ENV{CRASHHOOK_SOURCE}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS -DCRASHHOOK_ONLY_HANDLER=ON -DCRASHHOOK_WITH_AGENT=ON -DCRASHHOOK_TESTS=OFF)
vcpkg_cmake_install()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
set(VCPKG_POLICY_ALLOW_EXES_IN_BIN enabled)
file(INSTALL "${SOURCE_PATH}/LICENSE" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
