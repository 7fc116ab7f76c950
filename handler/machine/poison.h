// SPDX-License-Identifier: Apache-2.0
//
// Names that the crash path must not use, because they may lock, allocate, format, or
// end the process differently. Files that run in a crash include this last; the
// compiler then refuses these names, and tests/lint/crash_symbols refuses every other
// libc call.
#pragma once

#pragma GCC poison malloc calloc realloc free alloca strdup
#pragma GCC poison printf fprintf dprintf snprintf sprintf vsnprintf perror puts
#pragma GCC poison memcpy memmove memset memcmp strlen strcpy strcat strcmp
#pragma GCC poison fork vfork waitpid execve posix_spawn syscall errno
#pragma GCC poison exit abort raise pthread_kill sigaction sigprocmask
#pragma GCC poison pthread_mutex_lock pthread_self dlsym dladdr getenv setenv
