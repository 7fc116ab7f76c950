// SPDX-License-Identifier: Apache-2.0
#include "cli/session/program_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "formats/debug/elf.h"

enum {
    SCRIPTS_MAX = 5,    // interpreters of interpreters (fs/exec.c)
    SCRIPT_BYTES = 256, // of the first line that the kernel reads
    DYNAMIC_MAX = 4096, // entries examined
    NOTES_LOOKED_AT = 64,
    SEGMENTS_LOOKED_AT = 64,
    NAME_BYTES = 256,
    NAMES_BYTES_MAX = 64 << 20, // names examined; more takes longer than it is worth
    GO_NOTE = 4,                // the build ID of Go's linker
    HANDLER_NOTE = 1,           // where watched objects are (shared/place_note.h)
    HEAP_NOTE = 5,              // of libcrashhook-heap
    SYMBOL_BYTES = 24,
};

#if defined(__x86_64__)
enum { NATIVE_MACHINE = ELF_X86_64 };
#elif defined(__aarch64__)
enum { NATIVE_MACHINE = ELF_AARCH64 };
#endif

// find_in_path finds command as execvp does: a name with a slash is a path.
static bool find_in_path(const char *command, char out[static PATH_MAX])
{
    const char *folders = getenv("PATH");
    struct stat file;
    if (strchr(command, '/') != NULL) {
        snprintf(out, PATH_MAX, "%s", command);
        return true;
    }
    if (folders == NULL)
        folders = "/bin:/usr/bin";
    for (const char *at = folders;; at += strcspn(at, ":") + 1) {
        int length = (int)strcspn(at, ":");
        int size = snprintf(out, PATH_MAX, "%.*s%s%s", length, at,
                            length != 0 ? "/" : "", command);
        if (size > 0 && size < PATH_MAX && stat(out, &file) == 0 &&
            S_ISREG(file.st_mode) && access(out, X_OK) == 0)
            return true;
        if (at[length] == 0)
            return false;
    }
}

// script_interpreter writes what runs a script: the word after its "#!", or the shell
// if it has none, as execvp does. False: it is not a script.
static bool script_interpreter(const char *bytes, size_t size,
                               char out[static PATH_MAX])
{
    char line[SCRIPT_BYTES + 1];
    size_t length = size < SCRIPT_BYTES ? size : SCRIPT_BYTES;
    memcpy(line, bytes, length);
    line[length] = 0;
    if (length < 4 || memcmp(line,
                             "\x7f"
                             "ELF",
                             4) == 0)
        return false;
    if (line[0] != '#' || line[1] != '!') {
        snprintf(out, PATH_MAX, "/bin/sh");
        return true;
    }
    const char *word = line + 2 + strspn(line + 2, " \t");
    snprintf(out, PATH_MAX, "%.*s", (int)strcspn(word, " \t\r\n"), word);
    return out[0] != 0;
}

// segment_string copies a segment's bytes from the file, at most NAME_BYTES - 1 of
// them, as a string.
static void segment_string(const struct elf_view *file,
                           const struct elf_segment *segment,
                           char out[static NAME_BYTES])
{
    uint64_t size =
        segment->file_size < NAME_BYTES - 1 ? segment->file_size : NAME_BYTES - 1;
    struct cursor c = elf_view_cursor(file, segment->offset, size);
    const void *bytes = cursor_take(&c, (size_t)size);
    size_t length = bytes != NULL ? (size_t)size : 0;
    if (length != 0)
        memcpy(out, bytes, length);
    out[length] = 0;
}

// program_has_note returns true if the file has a note of that name and type.
static bool program_has_note(const struct elf_view *file, const char *name,
                             uint32_t type)
{
    struct elf_segment segment;
    struct elf_note note;
    size_t size = strlen(name) + 1;
    for (uint32_t i = 0; i < SEGMENTS_LOOKED_AT; i++) {
        if (elf_view_segment(file, i, &segment) != CH_OK)
            return false;
        if (segment.type != ELF_PT_NOTE)
            continue;
        struct cursor notes = elf_view_cursor(file, segment.offset, segment.file_size);
        for (size_t n = 0; n < NOTES_LOOKED_AT &&
                           elf_next_note(&notes, segment.align, &note) == CH_OK;
             n++) {
            if (note.type == type && note.name_size >= size &&
                memcmp(note.name, name, size) == 0)
                return true;
        }
    }
    return false;
}

// offset_of is the offset in the file of the byte at vaddr; false: the file does not
// have it.
static bool offset_of(const struct elf_view *file, uint64_t vaddr, uint64_t *out)
{
    struct elf_segment segment;
    for (uint32_t i = 0; i < SEGMENTS_LOOKED_AT; i++) {
        if (elf_view_segment(file, i, &segment) != CH_OK)
            return false;
        if (segment.type == ELF_PT_LOAD && vaddr >= segment.vaddr &&
            vaddr - segment.vaddr < segment.file_size) {
            *out = vaddr - segment.vaddr + segment.offset;
            return true;
        }
    }
    return false;
}

static bool is_runtime(const char *name)
{
    static const char *const runtimes[] = { "libasan.so",  "libtsan.so",
                                            "liblsan.so",  "libhwasan.so",
                                            "libubsan.so", "libclang_rt." };
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
        if (strncmp(name, runtimes[i], strlen(runtimes[i])) == 0)
            return true;
    }
    return false;
}

// find_runtime looks for a sanitizer's runtime among the libraries that the file needs.
static bool find_runtime(const struct elf_view *file, char out[static NAME_MAX + 1])
{
    enum { DT_NEEDED = 1, DT_STRTAB = 5, DYNAMIC_ENTRY = 16 };
    struct elf_segment dynamic;
    uint64_t names = 0;
    if (elf_view_find_segment(file, ELF_PT_DYNAMIC, &dynamic) != CH_OK)
        return false;
    uint64_t count = dynamic.file_size / DYNAMIC_ENTRY;
    if (count > DYNAMIC_MAX)
        count = DYNAMIC_MAX;
    struct cursor all = elf_view_cursor(file, dynamic.offset, count * DYNAMIC_ENTRY);
    struct cursor at = all;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t tag = cursor_u64(&at);
        uint64_t value = cursor_u64(&at);
        if (cursor_ok(&at) && tag == DT_STRTAB && !offset_of(file, value, &names))
            return false;
    }
    for (uint64_t i = 0; names != 0 && i < count; i++) {
        char name[NAME_BYTES];
        uint64_t tag = cursor_u64(&all);
        uint64_t value = cursor_u64(&all);
        if (!cursor_ok(&all) || tag != DT_NEEDED || value > UINT32_MAX)
            continue;
        struct elf_segment text = { .offset = names + value, .file_size = file->size };
        if (text.offset >= file->size)
            continue;
        text.file_size = file->size - text.offset;
        segment_string(file, &text, name);
        if (is_runtime(name)) {
            snprintf(out, NAME_MAX + 1, "%s", name);
            return true;
        }
    }
    return false;
}

// has_name returns true if one of names is a complete string in a section of strings.
static bool has_name(const struct elf_view *file, const char *section,
                     const char *const *names)
{
    struct elf_section strings;
    if (elf_view_find_section(file, section, &strings, NULL) != CH_OK)
        return false;
    struct cursor c = elf_section_cursor(file, &strings);
    size_t size = cursor_left(&c);
    if (size > NAMES_BYTES_MAX)
        return false;
    const uint8_t *bytes = cursor_take(&c, size);
    for (; bytes != NULL && *names != NULL; names++) {
        const uint8_t *at = bytes;
        while ((at = memmem(at, size - (size_t)(at - bytes), *names,
                            strlen(*names) + 1)) != NULL) {
            if (at > bytes && at[-1] == 0)
                return true;
            at++;
        }
    }
    return false;
}

// exports_sanitizer is true if a sanitizer's runtime is linked into the program, which
// then exports its interface. The handler refers to some of these names, so where it is
// linked into the program they mean nothing.
static bool exports_sanitizer(const struct elf_view *file, bool linked)
{
    static const char *const names[] = { "__asan_init", "__lsan_init", "__hwasan_init",
                                         NULL };
    static const char *const others[] = { "__tsan_init", "__msan_init",
                                          "__sanitizer_set_death_callback", NULL };
    return has_name(file, ".dynstr", names) ||
           (!linked && has_name(file, ".dynstr", others));
}

// find_hidden_runtime is a sanitizer whose runtime only the names for debuggers show.
// NULL: there is none, or the program is stripped.
static const char *find_hidden_runtime(const struct elf_view *file, bool linked)
{
    static const char *const runtimes[][3] = {
        { "__tsan_init", NULL, "ThreadSanitizer" }, // the handler refers to it, too
        { "__asan_init", NULL, "AddressSanitizer" },
        { "__ubsan_handle_type_mismatch_v1", NULL, "UndefinedBehaviorSanitizer" },
    };
    for (size_t i = linked; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
        if (has_name(file, ".strtab", runtimes[i]))
            return runtimes[i][2];
    }
    return NULL;
}

static enum program_kind kind_of_elf(const struct elf_view *file, struct program *out)
{
    struct elf_segment interpreter;
    char loader[NAME_BYTES];
    if (file->header.machine != NATIVE_MACHINE || !file->header.is_64)
        return PROGRAM_FOREIGN;
    out->linked = program_has_note(file, "crashhook", HANDLER_NOTE);
    bool sanitized =
        find_runtime(file, out->runtime) || exports_sanitizer(file, out->linked);
    if (!sanitized)
        out->hidden = find_hidden_runtime(file, out->linked);
    out->is_static = elf_view_find_segment(file, ELF_PT_INTERP, &interpreter) != CH_OK;
    if (out->is_static) {
        if (out->linked)
            return PROGRAM_HAS_HANDLER;
        return program_has_note(file, "Go", GO_NOTE) ? PROGRAM_GO : PROGRAM_STATIC;
    }
    segment_string(file, &interpreter, loader);
    if (strstr(loader, "ld-linux") == NULL)
        return PROGRAM_OTHER_LIBC;
    if (sanitized)
        return PROGRAM_SANITIZED;
    if (out->hidden != NULL && strcmp(out->hidden, "ThreadSanitizer") == 0)
        return PROGRAM_HIDDEN_TSAN;
    return program_has_note(file, "Go", GO_NOTE) ? PROGRAM_GO : PROGRAM_DYNAMIC;
}

static enum program_kind kind_of_bytes(const void *bytes, size_t size,
                                       struct program *out)
{
    struct elf_view file;
    if (elf_view_init(&file, bytes, size) != CH_OK)
        return PROGRAM_UNKNOWN;
    return kind_of_elf(&file, out);
}

// file_gains_privileges is true if the kernel gives the program an identity that is not
// its caller's, or capabilities. The loader then ignores LD_PRELOAD (ld.so(8)).
static bool file_gains_privileges(int fd, const struct stat *file)
{
    bool set_gid = (file->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    // no_new_privs makes execve ignore set-user-ID bits and file capabilities
    // (execve(2)).
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return false;
    return ((file->st_mode & S_ISUID) != 0 && file->st_uid != getuid()) ||
           (set_gid && file->st_gid != getgid()) ||
           (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

// program_look_at examines the file at out->path. True: it is a script, and out->path
// is now its interpreter, which is to be examined instead.
static bool program_look_at(struct program *out)
{
    struct stat file;
    char interpreter[PATH_MAX];
    bool script = false;
    out->kind = PROGRAM_UNKNOWN;
    int fd = open(out->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            script = script_interpreter(bytes, (size_t)file.st_size, interpreter);
            if (!script)
                out->kind = kind_of_bytes(bytes, (size_t)file.st_size, out);
            (void)munmap(bytes, (size_t)file.st_size);
        }
        if (!script && file_gains_privileges(fd, &file))
            out->kind = PROGRAM_PRIVILEGED;
    }
    (void)close(fd);
    if (script)
        memcpy(out->path, interpreter, sizeof(interpreter));
    return script;
}

void program_look(const char *command, struct program *out)
{
    *out = (struct program){ .kind = PROGRAM_UNKNOWN };
    if (!find_in_path(command, out->path)) {
        out->path[0] = 0;
        return;
    }
    for (int i = 0; i < SCRIPTS_MAX && program_look_at(out); i++)
        continue;
}

// look_into maps the program's file for a function that looks for something in it.
static bool look_into(const struct program *program,
                      bool look(const struct elf_view *file, const void *what),
                      const void *what)
{
    struct elf_view view;
    struct stat file;
    bool found = false;
    int fd = open(program->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        found = bytes != MAP_FAILED &&
                elf_view_init(&view, bytes, (size_t)file.st_size) == CH_OK &&
                look(&view, what);
        if (bytes != MAP_FAILED)
            (void)munmap(bytes, (size_t)file.st_size);
    }
    (void)close(fd);
    return found;
}

static bool has_dynamic_name(const struct elf_view *file, const void *names)
{
    return has_name(file, ".dynstr", names);
}

bool program_has_name(const struct program *program, const char *const *names)
{
    return look_into(program, has_dynamic_name, names);
}

// defines_malloc returns true if the program's malloc precedes those of libraries.
static bool defines_malloc(const struct elf_view *file, const void *what)
{
    static const char name[] = "malloc";
    struct elf_section symbols;
    struct elf_section strings;
    (void)what;
    if (program_has_note(file, "crashhook", HEAP_NOTE) ||
        elf_view_find_section(file, ".dynsym", &symbols, NULL) != CH_OK ||
        elf_view_find_section(file, ".dynstr", &strings, NULL) != CH_OK)
        return false;
    struct cursor c = elf_section_cursor(file, &symbols);
    while (cursor_left(&c) >= SYMBOL_BYTES) {
        uint32_t at = cursor_u32(&c);
        cursor_skip(&c, 2);
        bool is_defined = cursor_u16(&c) != 0;
        cursor_skip(&c, SYMBOL_BYTES - 8);
        struct cursor text = elf_section_cursor(file, &strings);
        if (!is_defined || at > cursor_left(&text))
            continue;
        cursor_skip(&text, at);
        const uint8_t *bytes = cursor_left(&text) >= sizeof(name)
                                   ? cursor_take(&text, sizeof(name))
                                   : NULL;
        if (bytes != NULL && memcmp(bytes, name, sizeof(name)) == 0)
            return true;
    }
    return false;
}

bool program_has_allocator(const struct program *program)
{
    return look_into(program, defines_malloc, NULL);
}

const char *program_kind_words(enum program_kind kind)
{
    static const char *const words[] = {
        [PROGRAM_DYNAMIC] = "it is linked with this C library",
        [PROGRAM_SANITIZED] = "it is built with a sanitizer",
        [PROGRAM_HIDDEN_TSAN] = "it has the runtime of ThreadSanitizer linked in",
        [PROGRAM_HAS_HANDLER] = "it has the handler",
        [PROGRAM_PRIVILEGED] = "it gains privileges",
        [PROGRAM_STATIC] = "it is statically linked",
        [PROGRAM_GO] = "it is a Go program",
        [PROGRAM_OTHER_LIBC] = "it uses another C library",
        [PROGRAM_FOREIGN] = "it is of another machine",
        [PROGRAM_UNKNOWN] = "it cannot be read",
    };
    return words[kind];
}
