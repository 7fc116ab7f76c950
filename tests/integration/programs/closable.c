// SPDX-License-Identifier: Apache-2.0
//
// A library with a handler, to be closed while the handler is in force.
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void open_page(int signal, siginfo_t *info, void *context);

// open_page makes accessible what could not be accessed.
void open_page(int signal, siginfo_t *info, void *context)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    (void)signal;
    (void)context;
    mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)(bytes - 1)), bytes,
             PROT_READ | PROT_WRITE);
}
