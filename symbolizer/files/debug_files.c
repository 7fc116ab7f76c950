// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/debug_files.h"

#include <dlfcn.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "base/system/file.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/files/debug_elf.h"
#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/files/minidebug.h"

// Debug files from a debuginfod server. This is used only on explicit request, never
// because a variable happens to be set, and never while a process is held.
//
// The server is not trusted: a file has at most 1 GiB, decompressed, and 50 s to come.
// The client follows redirects, within that time.
//
// The client library is loaded when it is first needed, so that programs that symbolize
// do not depend on an HTTP client.

// FETCH_MAX_BYTES is the longest file, as it is written: answers may be compressed.
// FETCH_MAX_MS is less than a guarded run has (symbolizer.h): a download that is ended
// here leaves nothing behind, one that is killed does.
enum { FETCH_MAX_BYTES = 1 << 30, FETCH_MAX_MS = 50000, LEFT_OVER_S = 600 };

typedef int progress_fn(void *client, long done, long of);

// client has the client's functions, as its header declares them.
struct client {
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *id, int id_size, char **path);
    void (*end)(void *client);
    void (*set_progress)(void *client, progress_fn *progress);
};

static bool load_client(struct client *out)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return false;
    // A function pointer is copied from dlsym's result by its bytes, as POSIX
    // recommends.
    void *begin = dlsym(library, "debuginfod_begin");
    void *find = dlsym(library, "debuginfod_find_debuginfo");
    void *end = dlsym(library, "debuginfod_end");
    memcpy(&out->begin, &begin, sizeof(begin));
    memcpy(&out->find, &find, sizeof(find));
    memcpy(&out->end, &end, sizeof(end));
    void *set_progress = dlsym(library, "debuginfod_set_progressfn");
    memcpy(&out->set_progress, &set_progress, sizeof(set_progress));
    return begin != NULL && find != NULL && end != NULL && set_progress != NULL;
}

static _Thread_local uint64_t deadline_ms;

static int is_fetched_too_long(void *client, long done, long of)
{
    (void)client;
    (void)of;
    return done > FETCH_MAX_BYTES || clock_now_ms(CLOCK_MONOTONIC) > deadline_ms;
}

// find_within_limits has the client fetch a file. A file that grows too long ends its
// write with EFBIG.
static int find_within_limits(const struct client *client, void *handle,
                              const struct build_id *id, char **out_path)
{
    struct rlimit before = { RLIM_INFINITY, RLIM_INFINITY };
    (void)getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit limit = before;
    if (limit.rlim_cur > FETCH_MAX_BYTES)
        limit.rlim_cur = FETCH_MAX_BYTES;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    deadline_ms = clock_now_ms(CLOCK_MONOTONIC) + FETCH_MAX_MS;
    client->set_progress(handle, is_fetched_too_long);
    int fd = client->find(handle, id->bytes, (int)id->size, out_path);
    (void)setrlimit(RLIMIT_FSIZE, &before);
    (void)signal(SIGXFSZ, handler);
    return fd;
}

// write_cache_path writes the path of the client's cache, as
// debuginfod_find_debuginfo(3) describes it.
static void write_cache_path(char out[PATH_MAX])
{
    static const char *const places[][2] = { { "DEBUGINFOD_CACHE_PATH", "" },
                                             { "XDG_CACHE_HOME", "/debuginfod_client" },
                                             { "HOME", "/.cache/debuginfod_client" } };
    out[0] = 0;
    for (size_t i = 0; i < 3 && out[0] == 0; i++) {
        const char *folder = getenv(places[i][0]);
        if (folder != NULL && folder[0] != 0)
            (void)snprintf(out, PATH_MAX, "%s%s", folder, places[i][1]);
    }
}

// drop_killed_downloads removes files of downloads that were killed: nobody writes to
// them any more, and the client itself does not remove them.
static void drop_killed_downloads(void)
{
    char pattern[PATH_MAX + 32];
    char cache[PATH_MAX];
    struct stat file;
    glob_t found = { 0 };
    write_cache_path(cache);
    (void)snprintf(pattern, sizeof(pattern), "%s/*/debuginfo.??????", cache);
    if (cache[0] != 0 && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (stat(found.gl_pathv[i], &file) == 0 &&
                file.st_mtim.tv_sec < time(NULL) - LEFT_OVER_S)
                (void)unlink(found.gl_pathv[i]);
    }
    globfree(&found);
}

// debuginfod_fetch asks the servers at url (separated by spaces) for the debug file of
// id, and writes the path of its cached copy to path. CH_ERR_UNSUPPORTED: the client
// library is not installed.
CH_CHECKED static enum ch_status
debuginfod_fetch(const char *url, const struct build_id *id, char *path, size_t size)
{
    struct client client;
    if (!load_client(&client))
        return CH_ERR_UNSUPPORTED;
    // The client reads its servers only from the environment.
    if (setenv("DEBUGINFOD_URLS", url, 1) != 0)
        return CH_ERR_NO_MEMORY;
    void *handle = client.begin();
    if (handle == NULL)
        return CH_ERR_NO_MEMORY;
    char *found = NULL;
    drop_killed_downloads();
    int fd = find_within_limits(&client, handle, id, &found);
    client.end(handle);
    if (fd < 0)
        return CH_ERR_NOT_FOUND;
    close(fd);
    int length = found != NULL ? snprintf(path, size, "%s", found) : -1;
    free(found);
    return length > 0 && (size_t)length < size ? CH_OK : CH_ERR_LIMIT;
}

// The vDSO is an image without a file. The running kernel's is mapped into our own
// process, and is the one of the report if the build IDs are equal.

// vdso_is_path returns true if path is one of the names that a vDSO has in place of a
// path.
static bool vdso_is_path(const char *path)
{
    return strcmp(path, "[vdso]") == 0 || strncmp(path, "linux-vdso", 10) == 0 ||
           strncmp(path, "linux-gate", 10) == 0;
}

// vdso_open opens a copy of our own. CH_ERR_NOT_FOUND: the kernel gave us none.
CH_CHECKED static enum ch_status vdso_open(struct debug_elf *out)
{
    const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (vdso == NULL)
        return CH_ERR_NOT_FOUND;
    // The bytes are the running kernel's, so they are trusted. The section headers come
    // last, which gives the size.
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    void *bytes = malloc(size);
    if (bytes == NULL)
        return CH_ERR_NO_MEMORY;
    memcpy(bytes, vdso, size);
    return debug_elf_over(out, bytes, size);
}

static const char system_debug_dir[] = "/usr/lib/debug";

// search is what is being searched for; it ends with the first file that fits.
struct search {
    struct debug_files *files;
    const char *path;
    struct build_id id;
    uint32_t crc; // of the debug link
    bool has_crc;
    const struct debug_search *where;
};

static bool crc_matches(int fd, uint32_t wanted)
{
    static const size_t chunk = 1 << 16;
    uint8_t *bytes = malloc(chunk);
    if (bytes == NULL)
        return false;
    uLong crc = crc32(0, NULL, 0);
    off_t at = 0;
    ssize_t got;
    while ((got = pread(fd, bytes, chunk, at)) > 0) {
        crc = crc32(crc, bytes, (uInt)got);
        at += got;
    }
    free(bytes);
    return got == 0 && crc == wanted;
}

// debug_fits returns true if file is of the image's build.
static bool debug_fits(const struct search *search, const struct debug_elf *file)
{
    struct build_id its_id = debug_elf_build_id(file);
    if (search->id.size != 0)
        return build_id_equal(&search->id, &its_id);
    return search->has_crc && crc_matches(file->fd, search->crc);
}

// has_symbols returns true if a file has a symbol table.
static bool has_symbols(const struct debug_elf *file)
{
    GElf_Shdr header;
    return debug_elf_find_section(file, ".symtab", &header) != NULL &&
           header.sh_type == SHT_SYMTAB;
}

// try_debug_file uses the file at path if it is the right one and has what is wanted.
// If there is no other file of the image, one with symbols alone is used until one with
// more is found.
static bool try_debug_file(struct search *search, const char *path)
{
    struct debug_elf file;
    enum ch_status status = debug_elf_open(&file, path);
    if (status != CH_OK)
        return false;
    if (!debug_fits(search, &file)) {
        search->files->status = DEBUG_MISMATCHED;
        debug_elf_close(&file);
        return false;
    }
    struct debug_files *files = search->files;
    bool complete = debug_elf_has_dwarf(&file);
    bool alone = files->image.elf == NULL && files->debug.elf == NULL;
    if (!complete && (!alone || !has_symbols(&file))) {
        debug_elf_close(&file);
        return false;
    }
    debug_elf_close(&files->debug);
    files->debug = file;
    files->status = complete ? DEBUG_FOUND : DEBUG_STRIPPED;
    return complete;
}

static bool try_joined(struct search *search, const char *dir, const char *between,
                       const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s%s%s", dir, between, name);
    return length > 0 && (size_t)length < sizeof(path) && try_debug_file(search, path);
}

// try_build_id_dir tries the debug file of a build, the program, and what was made of
// Breakpad's symbols.
static bool try_build_id_dir(struct search *search, const char *dir)
{
    static const char *const endings[] = { ".debug", "", ".sym" };
    char hex[2 * BUILD_ID_MAX + 1];
    char name[2 * BUILD_ID_MAX + 16];
    if (search->id.size < 2)
        return false;
    hex_encode(search->id.bytes, search->id.size, hex);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        (void)snprintf(name, sizeof(name), "%.2s/%s%s", hex, hex + 2, endings[i]);
        if (try_joined(search, dir, "/.build-id/", name))
            return true;
    }
    return false;
}

// try_debug_dir searches a folder named by the user: files may be laid out there as in
// packages, or just copied into it.
static bool try_debug_dir(struct search *search, const char *dir)
{
    char name[NAME_MAX + 8];
    if (try_build_id_dir(search, dir))
        return true;
    if (search->path[0] == '/' && try_joined(search, dir, "", search->path))
        return true;
    if (try_joined(search, dir, "/", file_name(search->path)))
        return true;
    int length = snprintf(name, sizeof(name), "%s.debug", file_name(search->path));
    return length > 0 && (size_t)length < sizeof(name) &&
           try_joined(search, dir, "/", name);
}

static bool try_debug_dirs(struct search *search)
{
    for (size_t i = 0; i < search->where->debug_dir_count; i++)
        if (try_debug_dir(search, search->where->debug_dirs[i]))
            return true;
    return try_build_id_dir(search, system_debug_dir);
}

// image_dir gives the image's real folder, with links resolved, because packages
// install debug files under the real path.
static bool image_dir(const struct search *search, char out[PATH_MAX])
{
    if (realpath(search->path, out) == NULL)
        return false;
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = 0;
    return true;
}

static bool try_debug_link(struct search *search, const char *name)
{
    char dir[PATH_MAX];
    char under_debug[PATH_MAX];
    if (!image_dir(search, dir))
        return false;
    char real[PATH_MAX];
    int length = snprintf(real, sizeof(real), "%s/%s", dir, name);
    if (length < 0 || (size_t)length >= sizeof(real))
        return false;
    if (try_debug_file(search, real) || try_joined(search, dir, "/.debug/", name))
        return true;
    length = snprintf(under_debug, sizeof(under_debug), "%s%s", system_debug_dir, dir);
    if (length > 0 && (size_t)length < sizeof(under_debug) &&
        try_joined(search, under_debug, "/", name))
        return true;
    for (size_t i = 0; i < search->where->debug_dir_count; i++)
        if (try_joined(search, search->where->debug_dirs[i], "/", name) ||
            try_joined(search, search->where->debug_dirs[i], "", real))
            return true;
    return false;
}

// debug_link gives the name of the image's debug file, NULL if it has none. A name that
// contains a slash is refused: it would lead out of the folders that are searched.
static const char *debug_link(struct search *search)
{
    GElf_Word crc;
    const struct debug_elf *image = &search->files->image;
    const char *name =
        image->elf != NULL ? dwelf_elf_gnu_debuglink(image->elf, &crc) : NULL;
    if (name == NULL || name[0] == 0 || strchr(name, '/') != NULL)
        return NULL;
    search->crc = crc;
    search->has_crc = true;
    return name;
}

static bool try_server(struct search *search)
{
    char path[PATH_MAX];
    if (search->where->debuginfod_url == NULL || search->id.size == 0)
        return false;
    if (debuginfod_fetch(search->where->debuginfod_url, &search->id, path,
                         sizeof(path)) != CH_OK)
        return false;
    if (try_debug_file(search, path))
        return true;
    struct debug_elf file;
    bool opened = debug_elf_open(&file, path) == CH_OK;
    if (!opened || !debug_fits(search, &file))
        (void)unlink(path); // not what was asked for: nobody needs it in the cache
    if (opened)
        debug_elf_close(&file);
    return false;
}

// open_plain opens the decompressed debug information of the image's build from the
// cache folder, if it is there.
static bool open_plain(const struct search *search, struct debug_elf *out)
{
    int fd = symbol_cache_folder_open(search->where->cache_folder, &search->id,
                                      SYMBOL_CACHE_OF_DEBUG);
    struct debug_elf file = { 0 };
    if (fd < 0)
        return false;
    (void)!debug_elf_adopt(&file, fd); // a damaged file has no build ID
    const struct build_id id = debug_elf_build_id(&file);
    if (!build_id_equal(&search->id, &id) || !debug_elf_has_dwarf(&file)) {
        debug_elf_close(&file);
        symbol_cache_folder_forget(search->where->cache_folder, &search->id);
        return false;
    }
    *out = file;
    return true;
}

// try_plain uses that for all but symbols.
static bool try_plain(struct search *search)
{
    const struct debug_search *where = search->where;
    if (!where->plain || where->cache_folder == NULL || search->id.size == 0 ||
        search->files->image.elf == NULL || !open_plain(search, &search->files->plain))
        return false;
    search->files->status = DEBUG_FOUND;
    return true;
}

// write_plain makes the decompressed form, unless another process does, for which it
// waits. False: there is none.
static bool write_plain(const struct search *search, const struct debug_elf *from)
{
    enum { PATIENCE_MS = 10000 };
    const char *folder = search->where->cache_folder;
    const struct build_id *id = &search->id;
    struct symbol_cache_file file;
    if (!symbol_cache_folder_claim(folder, id, SYMBOL_CACHE_OF_DEBUG))
        return symbol_cache_folder_await(folder, id, SYMBOL_CACHE_OF_DEBUG,
                                         PATIENCE_MS);
    enum ch_status status =
        symbol_cache_folder_begin(&file, folder, id, SYMBOL_CACHE_OF_DEBUG);
    if (status != CH_OK)
        return false;
    status = decompressed_debug_write(from, file.fd, SYMBOL_CACHE_FOLDER_BYTES);
    return symbol_cache_folder_end(&file, status, SYMBOL_CACHE_FOLDER_BYTES) == CH_OK;
}

// replace_large has large debug information that is compressed read from its
// decompressed form, which is made if there is none.
static void replace_large(struct search *search, const struct debug_elf *from)
{
    struct debug_files *files = search->files;
    if (search->where->cache_folder == NULL || search->id.size == 0)
        return;
    uint64_t size = decompressed_debug_size(from);
    if (size < PLAIN_DEBUG_LARGE || size > SYMBOL_CACHE_FOLDER_BYTES)
        return;
    if (!open_plain(search, &files->plain) && write_plain(search, from))
        (void)open_plain(search, &files->plain);
}

// replace_compressed does so, and replaces what libelf cannot decompress.
static void replace_compressed(struct search *search)
{
    struct debug_files *files = search->files;
    const struct debug_elf *from = debug_files_dwarf(files);
    if (try_plain(search) || from == NULL)
        return;
    replace_large(search, from);
    if (files->plain.elf == NULL &&
        decompressed_debug_load_foreign(&files->plain, from) != CH_OK)
        files->plain = (struct debug_elf){ 0 };
}

// look_for_debug_file searches every location in turn.
static void look_for_debug_file(struct search *search)
{
    const char *link = debug_link(search);
    if (try_debug_dirs(search))
        return;
    if (link != NULL && try_debug_link(search, link))
        return;
    if (try_server(search))
        return;
    if (search->files->image.elf != NULL && search->files->status != DEBUG_MISMATCHED)
        search->files->status = link != NULL ? DEBUG_NOT_INSTALLED : DEBUG_STRIPPED;
}

// debug_open_image opens the image itself, unless it is of another build than the
// report's.
static void debug_open_image(struct search *search)
{
    struct debug_files *files = search->files;
    enum ch_status status = vdso_is_path(search->path)
                                ? vdso_open(&files->image)
                                : debug_elf_open(&files->image, search->path);
    if (status != CH_OK) {
        files->image = (struct debug_elf){ 0 };
        files->status = status == CH_ERR_MALFORMED ? DEBUG_DAMAGED : DEBUG_NO_FILE;
        return;
    }
    struct build_id its_id = debug_elf_build_id(&files->image);
    if (search->id.size != 0 && !build_id_equal(&search->id, &its_id)) {
        debug_elf_close(&files->image);
        files->status = DEBUG_MISMATCHED;
        return;
    }
    search->id = its_id;
    files->status = DEBUG_STRIPPED;
}

void debug_files_open(struct debug_files *out, const char *path,
                      const struct build_id *id, const struct debug_search *where)
{
    *out = (struct debug_files){ .status = DEBUG_NO_FILE };
    struct search search = { .files = out, .path = path, .id = *id, .where = where };
    if (where->alone) {
        for (size_t i = 0; out->debug.elf == NULL && i < where->debug_dir_count; i++)
            (void)try_build_id_dir(&search, where->debug_dirs[i]);
        replace_compressed(&search);
        return;
    }
    debug_open_image(&search);
    if (out->image.elf != NULL && debug_elf_has_dwarf(&out->image)) {
        out->status = DEBUG_FOUND;
        replace_compressed(&search);
        return;
    }
    look_for_debug_file(&search);
    replace_compressed(&search);
    if (out->image.elf != NULL && minidebug_open(&out->mini, &out->image) != CH_OK)
        out->mini = (struct debug_elf){ 0 };
}

void debug_files_close(struct debug_files *files)
{
    debug_elf_close(&files->plain);
    debug_elf_close(&files->mini);
    debug_elf_close(&files->debug);
    debug_elf_close(&files->image);
}

const struct debug_elf *debug_files_dwarf(const struct debug_files *files)
{
    if (files->plain.elf != NULL)
        return &files->plain;
    if (files->debug.elf != NULL && debug_elf_has_dwarf(&files->debug))
        return &files->debug;
    if (files->image.elf != NULL && debug_elf_has_dwarf(&files->image))
        return &files->image;
    return NULL;
}
