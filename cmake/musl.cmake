# SPDX-License-Identifier: Apache-2.0
# Builds with musl-gcc, for CRASHHOOK_ONLY_HANDLER: the library for programs that use musl.
# The kernel's headers, which Debian's musl-gcc does not find, are those of the machine.
set(CMAKE_C_COMPILER musl-gcc)

set(kernel ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel})
foreach(folder linux asm-generic)
    file(CREATE_LINK /usr/include/${folder} ${kernel}/${folder} SYMBOLIC)
endforeach()
execute_process(COMMAND gcc -print-multiarch OUTPUT_VARIABLE multiarch
    OUTPUT_STRIP_TRAILING_WHITESPACE)
file(CREATE_LINK /usr/include/${multiarch}/asm ${kernel}/asm SYMBOLIC)
set(CMAKE_C_FLAGS_INIT "-isystem ${kernel}")
