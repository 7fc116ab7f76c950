// SPDX-License-Identifier: Apache-2.0
//
// The functions of libdw and libelf that this library calls, each found in its own
// library. The dynamic linker would take the first of a name in the process, and a
// program that has libdwarf has dwarf_formstring and others with other arguments. In
// the same way libdw itself would call the elf_begin of a program that has another
// libelf: so it is no dependency of this library, which the linker would bind to the
// program's names, but loaded with RTLD_DEEPBIND.
//
// The functions defined here are visible in this library alone and jump to those found.
// All are found when the library is loaded; one that is missing returns 0, which is a
// failure of those that are called first (elf_begin, elf_memory, dwarf_begin_elf).
#include <dlfcn.h>
#include <stddef.h>

#define LIBDW "libdw.so.1"
#if !defined(RTLD_DEEPBIND) // musl's linker has no such scope
#define RTLD_DEEPBIND 0
#endif

// What is found, and where: libelf is found as one that libdw needs.
#define FUNCTIONS(X)                                                                   \
    X(dwarf_attr)                                                                      \
    X(dwarf_attr_integrate)                                                            \
    X(dwarf_begin_elf)                                                                 \
    X(dwarf_cu_getdwarf)                                                               \
    X(dwarf_cu_info)                                                                   \
    X(dwarf_cuoffset)                                                                  \
    X(dwarf_diecu)                                                                     \
    X(dwarf_diename)                                                                   \
    X(dwarf_dieoffset)                                                                 \
    X(dwarf_end)                                                                       \
    X(dwarf_formref_die)                                                               \
    X(dwarf_formstring)                                                                \
    X(dwarf_formudata)                                                                 \
    X(dwarf_get_units)                                                                 \
    X(dwarf_getalt)                                                                    \
    X(dwarf_getelf)                                                                    \
    X(dwarf_next_unit)                                                                 \
    X(dwarf_offdie)                                                                    \
    X(dwarf_ranges)                                                                    \
    X(dwarf_srclang)                                                                   \
    X(dwarf_tag)                                                                       \
    X(dwelf_elf_gnu_build_id)                                                          \
    X(dwelf_elf_gnu_debuglink)                                                         \
    X(elf_begin)                                                                       \
    X(elf_cntl)                                                                        \
    X(elf_end)                                                                         \
    X(elf_getdata)                                                                     \
    X(elf_getphdrnum)                                                                  \
    X(elf_getscn)                                                                      \
    X(elf_getshdrstrndx)                                                               \
    X(elf_kind)                                                                        \
    X(elf_memory)                                                                      \
    X(elf_nextscn)                                                                     \
    X(elf_rawdata)                                                                     \
    X(elf_rawfile)                                                                     \
    X(elf_strptr)                                                                      \
    X(elf_version)                                                                     \
    X(gelf_getchdr)                                                                    \
    X(gelf_getclass)                                                                   \
    X(gelf_getehdr)                                                                    \
    X(gelf_getphdr)                                                                    \
    X(gelf_getrela)                                                                    \
    X(gelf_getshdr)                                                                    \
    X(gelf_getsym)                                                                     \
    X(gelf_update_shdr)

// Each jumps to the address in a variable own_ and its name.
#if defined(__x86_64__)
#define JUMP(name) "endbr64\n\tjmp *own_" #name "(%rip)\n"
#else
#define JUMP(name)                                                                     \
    "hint #34\n\t" /* bti c */                                                         \
    "adrp x16, own_" #name "\n\t"                                                      \
    "ldr x16, [x16, #:lo12:own_" #name "]\n\t"                                         \
    "br x16\n"
#endif
#define DEFINE(name)                                                                   \
    __attribute__((visibility("hidden"), used)) void *own_##name;                      \
    __asm__(".pushsection .text\n\t"                                                   \
            ".p2align 4\n\t"                                                           \
            ".globl " #name "\n\t"                                                     \
            ".hidden " #name "\n\t"                                                    \
            ".type " #name ", %function\n" #name                                       \
            ":\n\t" JUMP(name) "\t.size " #name ", . - " #name "\n\t"                  \
                               ".popsection");

FUNCTIONS(DEFINE)

// __sanitizer_print_stack_trace is in every sanitizer's runtime. dlsym would not do:
// where it fails it allocates a message, which the next dlsym frees, and a program's
// free may call dlsym itself.
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

static long return_nothing(void)
{
    return 0;
}

// A sought_function is one to be found.
struct sought_function {
    const char *name;
    void **found;
};

#define SOUGHT(name) { #name, &own_##name },

__attribute__((constructor(101))) static void find_own_libdw(void)
{
    static const struct sought_function sought[] = { FUNCTIONS(SOUGHT) };
    // A sanitizer's dlopen ends the program at RTLD_DEEPBIND.
    const int scope = __sanitizer_print_stack_trace != NULL ? 0 : RTLD_DEEPBIND;
    void *library = dlopen(LIBDW, RTLD_LAZY | RTLD_LOCAL | scope);
    for (size_t i = 0; i < sizeof(sought) / sizeof(sought[0]); i++) {
        void *found = library != NULL ? dlsym(library, sought[i].name) : NULL;
        *sought[i].found = found != NULL ? found : (void *)return_nothing;
    }
}
