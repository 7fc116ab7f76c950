// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/next_call.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "handler/crash/crash.h"
#include "handler/machine/syscalls.h"

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef void exit_fn(int);
typedef int sigmask_fn(int, const sigset_t *, sigset_t *);

// dlsym is missing in a static program. There, __sigaction is libc's own sigaction, in
// glibc and in musl; no other library defines it.
extern void *dlsym(void *restrict, const char *restrict) __attribute__((weak));
extern sigaction_fn __sigaction __attribute__((weak)); // libc's name

extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak)); // the linker's name

static sigaction_fn *found_sigaction;
static exit_fn *found_exit;
static sigmask_fn *found_sigmask;

// A symbol_table is what is needed of an image to look up a name.
struct symbol_table {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint16_t *versions; // NULL: none
    const uint32_t *gnu_hash; // NULL: none
};

// table_read reads the image's table. glibc's loader has made addresses of its dynamic
// section's values, others leave offsets. False: names cannot be looked up in it.
static bool table_read(const struct link_map *image, struct symbol_table *out)
{
    *out = (struct symbol_table){ 0 };
    for (const ElfW(Dyn) *entry = image->l_ld; entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr;
        const void *at =
            (const void *)(value < image->l_addr ? value + image->l_addr : value);
        if (entry->d_tag == DT_SYMTAB)
            out->symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            out->strings = at;
        else if (entry->d_tag == DT_VERSYM)
            out->versions = at;
        else if (entry->d_tag == DT_GNU_HASH)
            out->gnu_hash = at;
    }
    return out->symbols != NULL && out->strings != NULL && out->gnu_hash != NULL;
}

// is_symbol returns true if the table's symbol is a definition of name in its default
// version.
static bool is_symbol(const struct symbol_table *table, size_t number, const char *name)
{
    enum { HIDDEN = 0x8000 };
    const ElfW(Sym) *symbol = &table->symbols[number];
    return symbol->st_shndx != SHN_UNDEF &&
           (table->versions == NULL || (table->versions[number] & HIDDEN) == 0) &&
           strcmp(table->strings + symbol->st_name, name) == 0;
}

// gnu_find gives the number of the symbol; 0: there is none.
static size_t gnu_find(const struct symbol_table *table, const char *name)
{
    const uint32_t *head = table->gnu_hash; // buckets, first symbol, filter, its shift
    const uint32_t *buckets = head + 4 + head[2] * (sizeof(ElfW(Addr)) / 4);
    uint32_t hash = 5381;
    for (const char *at = name; *at != 0; at++)
        hash = hash * 33 + (uint8_t)*at;
    size_t number = head[0] != 0 ? buckets[hash % head[0]] : 0;
    const uint32_t *chain = buckets + head[0] - head[1];
    for (; number >= head[1] && number != 0; number++) {
        if ((chain[number] | 1) == (hash | 1) && is_symbol(table, number, name))
            return number;
        if ((chain[number] & 1) != 0)
            break;
    }
    return 0;
}

static void *find_in(const struct link_map *image, const char *name)
{
    struct symbol_table table;
    size_t number = table_read(image, &table) ? gnu_find(&table, name) : 0;
    return number != 0 ? (void *)(image->l_addr + table.symbols[number].st_value)
                       : NULL;
}

// first_image is the loader's list of what it has loaded, in the order in which it
// searches, as debuggers find it. NULL: the program has no loader.
static const struct link_map *first_image(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    const size_t count = headers != NULL ? getauxval(AT_PHNUM) : 0;
    const ElfW(Phdr) *own = NULL; // a static-pie program, which has no loader, has none
    const ElfW(Dyn) *dynamic = NULL;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR)
            own = &headers[i];
        if (headers[i].p_type == PT_DYNAMIC && own != NULL)
            dynamic = (const ElfW(Dyn) *)((uintptr_t)headers - own->p_vaddr +
                                          headers[i].p_vaddr);
    }
    while (dynamic != NULL && dynamic->d_tag != DT_NULL && dynamic->d_tag != DT_DEBUG)
        dynamic++;
    bool has_list = dynamic != NULL && dynamic->d_tag == DT_DEBUG;
    const struct r_debug *debug =
        has_list ? (const struct r_debug *)dynamic->d_un.d_ptr : NULL;
    return debug != NULL ? debug->r_map : NULL;
}

// own_image is this library in the loader's list, which it never leaves. NULL: it is
// not there.
static const struct link_map *own_image(void)
{
    static const struct link_map *found;
    if (found == NULL)
        found = first_image();
    while (found != NULL && found->l_ld != _DYNAMIC)
        found = found->l_next;
    return found;
}

const char *next_call_library(void)
{
    const struct link_map *image = own_image();
    return image != NULL ? image->l_name : NULL;
}

void *next_symbol(const char *name)
{
    const struct link_map *image = own_image();
    void *found = NULL;
    while (image != NULL && found == NULL && (image = image->l_next) != NULL)
        found = find_in(image, name);
    if (found == NULL && dlsym != NULL) // loaded by the program itself
        found = dlsym(RTLD_NEXT, name);
    return found;
}

void next_call_find(void)
{
    if (found_sigaction == NULL)
        found_sigaction = (sigaction_fn *)next_symbol("sigaction");
    if (found_sigaction == NULL)
        found_sigaction = __sigaction;
    if (found_exit == NULL)
        found_exit = (exit_fn *)next_symbol("_exit");
    if (found_sigmask == NULL)
        found_sigmask = (sigmask_fn *)next_symbol("pthread_sigmask");
}

// call_kernel is sigaction where libc's own cannot be reached: in a static program that
// does not otherwise link it.
static int call_kernel(int signal, const struct sigaction *action,
                       struct sigaction *old)
{
    struct sys_action wanted = { 0 };
    struct sys_action before = { 0 };
    if (action != NULL) {
        wanted.handler = (uintptr_t)action->sa_handler;
        wanted.flags = (uint32_t)action->sa_flags;
        memcpy(&wanted.mask, &action->sa_mask, sizeof(wanted.mask));
#if defined(__x86_64__)
        wanted.flags |= SYS_SA_RESTORER;
        wanted.restorer = (uintptr_t)crash_restore;
#endif
    }
    long result = sys_sigaction(signal, action != NULL ? &wanted : NULL, &before);
    if (result != 0) {
        errno = (int)-result;
        return -1;
    }
    if (old != NULL) {
        old->sa_handler = (void (*)(int))before.handler;
        old->sa_flags = (int)before.flags; // SA_RESTORER too, as libcs do
        memcpy(&old->sa_mask, &before.mask, sizeof(before.mask));
    }
    return 0;
}

int next_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    next_call_find();
    if (found_sigaction == NULL)
        return call_kernel(signal, action, old);
    return found_sigaction(signal, action, old);
}

int next_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    if (found_sigmask != NULL)
        return found_sigmask(how, set, old);
    return syscall(SYS_rt_sigprocmask, how, set, old, SYS_SIGSET_BYTES) == 0 ? 0
                                                                             : errno;
}

int next_libc_sigaction(int signal, const struct sigaction *action,
                        struct sigaction *old)
{
    return __sigaction != NULL ? __sigaction(signal, action, old) : -1;
}

void next_exit_now(int status)
{
    next_call_find();
    if (found_exit != NULL)
        found_exit(status);
    sys_exit_group(status);
}
