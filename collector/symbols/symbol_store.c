// SPDX-License-Identifier: Apache-2.0
//
// How it works: a debug file is put into the folder, packed into an object
// (symbol_object_put), and noted by a row; a file that is looked up is opened in the
// folder, or fetched there from its object first. Whether an object has a file is known
// from a list that is read again from time to time (find_symbol_object).
// Invariants: the row is removed before the file; a project's own file precedes
// everybody's; a fetched file counts only if its SHA-256 is the one in the object's
// name; the folder's limit removes only what can be fetched again (may_leave).
#include "collector/symbols/symbol_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "collector/database/timestamp.h"
#include "collector/objects/object_store.h"
#include "collector/store/store_segments.h"
#include "collector/store/store_symbolization.h"
#include "collector/store/store_symbols.h"
#include "collector/symbols/symbol_folder.h"
#include "net/http.h"
#include "report/file/digest.h"

// A debug file as an object: compressed with zstd, named by the SHA-256 of its content,
// which is checked when it comes back.

enum { LEVEL = 3, PART_BYTES = 256 << 10 };

// symbol_packing is a file on its way into an object.
struct symbol_packing {
    ZSTD_CStream *stream;
    FILE *to;
    struct sha256_ctx sum;
    char *in;
    char *out;
};

static void free_symbol_packing(struct symbol_packing *packing)
{
    ZSTD_freeCStream(packing->stream);
    if (packing->to != NULL)
        (void)fclose(packing->to);
    free(packing->in);
    free(packing->out);
}

static bool pack_part(struct symbol_packing *packing, size_t size)
{
    ZSTD_inBuffer input = { .src = packing->in, .size = size };
    ZSTD_EndDirective end = size == 0 ? ZSTD_e_end : ZSTD_e_continue;
    for (size_t left = 1; left != 0;) {
        ZSTD_outBuffer output = { .dst = packing->out, .size = PART_BYTES };
        left = ZSTD_compressStream2(packing->stream, &output, &input, end);
        if (ZSTD_isError(left) ||
            fwrite(packing->out, 1, output.pos, packing->to) != output.pos)
            return false;
        if (end == ZSTD_e_continue && input.pos == input.size)
            left = 0;
    }
    return true;
}

static bool pack_file(struct symbol_packing *packing, int fd)
{
    ssize_t got = 0;
    sha256_init(&packing->sum);
    do {
        got = file_read_all(fd, packing->in, PART_BYTES);
        if (got < 0 || !pack_part(packing, (size_t)got))
            return false;
        sha256_update(&packing->sum, (size_t)got, (const uint8_t *)packing->in);
    } while (got != 0);
    return fflush(packing->to) == 0;
}

// symbol_object_put stores the content of fd below folder, writes its name, and returns
// how many bytes the object has.
static enum ch_status symbol_object_put(struct object_store *objects,
                                        const char *folder, int fd,
                                        char out_name[OBJECT_NAME_SIZE],
                                        int64_t *out_size, char why[OBJECT_WHY_SIZE])
{
    char sum[SHA256_HEX_SIZE];
    struct symbol_packing CH_CLEANUP(free_symbol_packing)
        packing = { .stream = ZSTD_createCStream(),
                    .to = tmpfile(),
                    .in = malloc(PART_BYTES),
                    .out = malloc(PART_BYTES) };
    (void)snprintf(why, OBJECT_WHY_SIZE, "a debug file cannot be compressed");
    if (packing.stream == NULL || packing.to == NULL || packing.in == NULL ||
        packing.out == NULL)
        return CH_ERR_NO_MEMORY;
    (void)ZSTD_CCtx_setParameter(packing.stream, ZSTD_c_compressionLevel, LEVEL);
    if (!pack_file(&packing, fd))
        return CH_ERR_IO;
    sha256_finish_hex(&packing.sum, sum);
    (void)snprintf(out_name, OBJECT_NAME_SIZE, "%.100s/%s.zst", folder, sum);
    long size = ftell(packing.to);
    if (size < 0)
        return CH_ERR_IO;
    struct object_source source = { .file = packing.to, .size = (size_t)size };
    *out_size = size;
    enum ch_status status = object_store_sum(source.file, source.size, source.sum);
    return status == CH_OK ? object_store_put(objects, out_name, &source, why) : status;
}

// unpack writes what a compressed file holds to an upload, and gives its hash.
static enum ch_status unpack(FILE *from, struct symbol_upload *upload,
                             char sum[SHA256_HEX_SIZE])
{
    struct sha256_ctx sha;
    size_t left = 1; // of a frame: 0 at its end
    uint64_t unpacked = 0;
    enum ch_status status = CH_OK;
    ZSTD_DStream *stream = ZSTD_createDStream();
    char *in = malloc(PART_BYTES);
    char *out = malloc(PART_BYTES);
    sha256_init(&sha);
    if (stream == NULL || in == NULL || out == NULL)
        status = CH_ERR_NO_MEMORY;
    size_t got = 0;
    while (status == CH_OK && (got = fread(in, 1, PART_BYTES, from)) != 0) {
        ZSTD_inBuffer input = { .src = in, .size = got };
        while (status == CH_OK && input.pos < input.size) {
            ZSTD_outBuffer output = { .dst = out, .size = PART_BYTES };
            left = ZSTD_decompressStream(stream, &output, &input);
            unpacked += output.pos;
            status = ZSTD_isError(left) || unpacked > HTTP_FILE_MAX_BYTES
                         ? CH_ERR_MALFORMED
                         : symbol_upload_write(upload, out, output.pos);
            sha256_update(&sha, output.pos, (const uint8_t *)out);
        }
    }
    ZSTD_freeDStream(stream);
    free(in);
    free(out);
    sha256_finish_hex(&sha, sum);
    return status == CH_OK && left != 0 ? CH_ERR_TRUNCATED : status;
}

// symbol_object_get writes the content of an object to an upload that has begun.
static enum ch_status symbol_object_get(struct object_store *objects, const char *name,
                                        struct symbol_upload *upload,
                                        char why[OBJECT_WHY_SIZE])
{
    char sum[SHA256_HEX_SIZE];
    FILE *compressed = tmpfile();
    (void)snprintf(why, OBJECT_WHY_SIZE, "a debug file cannot be fetched");
    if (compressed == NULL)
        return CH_ERR_IO;
    enum ch_status status = object_store_get(objects, name, compressed, why);
    if (status == CH_OK) {
        rewind(compressed);
        status = unpack(compressed, upload, sum);
        // The name ends with the hash of the content.
        const char *slash = strrchr(name, '/');
        if (status == CH_OK &&
            (slash == NULL || strncmp(slash + 1, sum, strlen(sum)) != 0))
            status = CH_ERR_MALFORMED;
        if (status != CH_OK)
            (void)snprintf(why, OBJECT_WHY_SIZE, "object '%.100s' is damaged", name);
    }
    (void)fclose(compressed);
    return status;
}

enum {
    KNOWN_MS = 5000,    // that the list of keys is believed
    TOUCH_MS = 3600000, // between two notes that a file is used
};

struct symbol_store {
    struct symbol_store_options options;
    struct object_store *objects; // NULL: the folder has all
    const char *objects_folder;
    pthread_mutex_t bringing; // held while a file is fetched: each is fetched once
    pthread_mutex_t lock;     // guards what follows
    struct text keys; // of files that an object has, in order, each with its NUL
    size_t *places;   // of the keys
    size_t count;
    size_t room;
    int64_t known_ms;  // when they were read, by the monotonic clock; 0: never
    int64_t strays_ms; // when objects are looked at next
};

// What keys of files that are no debug files begin with.
static const char *const prefixes[SYMBOL_KINDS] = { "", "sources ", "program ",
                                                    "breakpad " };

void symbol_store_key(const char *project, enum symbol_kind kind, const char *build_id,
                      char out[SYMBOL_STORE_KEY_SIZE])
{
    (void)snprintf(out, SYMBOL_STORE_KEY_SIZE, "%s%s%s%.*s", project,
                   project[0] != 0 ? "/" : "", prefixes[kind],
                   SYMBOL_FOLDER_ID_SIZE - 1, build_id);
}

// symbol_file is a file: of a project, or (project "") of everybody.
struct symbol_file {
    char project[ENTRY_PROJECT_SIZE];
    enum symbol_kind kind;
    char id[SYMBOL_FOLDER_ID_SIZE];
    char key[SYMBOL_STORE_KEY_SIZE];
    char folder[SYMBOL_FOLDER_PATH_SIZE]; // where it is, or is fetched to
};

static void name_file(const struct symbol_store *symbols, const char *project,
                      enum symbol_kind kind, const char *id, struct symbol_file *out)
{
    out->kind = kind;
    entry_copy(out->project, sizeof(out->project), project);
    entry_copy(out->id, sizeof(out->id), id);
    symbol_store_key(project, kind, id, out->key);
    symbol_folder_of(symbols->options.folder, project, out->folder);
}

// name_file_of_key is the same for what symbol_store_key wrote.
static void name_file_of_key(const struct symbol_store *symbols, const char *key,
                             struct symbol_file *out)
{
    char project[ENTRY_PROJECT_SIZE];
    const char *build = store_build_of(key);
    enum symbol_kind kind = SYMBOL_KINDS - 1;
    while (strncmp(build, prefixes[kind], strlen(prefixes[kind])) != 0)
        kind--; // the prefix of debug files is empty
    (void)snprintf(project, sizeof(project), "%.*s",
                   build != key ? (int)(build - key) - 1 : 0, key);
    name_file(symbols, project, kind, build + strlen(prefixes[kind]), out);
}

static enum ch_status open_symbol_objects(struct symbol_store *symbols,
                                          char error[STORE_ERROR_SIZE])
{
    char why[OBJECT_WHY_SIZE];
    const struct symbol_store_options *options = &symbols->options;
    if (options->place == NULL)
        return CH_OK;
    enum ch_status status =
        object_store_open(options->place, options->store, why, &symbols->objects);
    if (status != CH_OK) {
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot use --symbol-store: %.200s",
                       why);
        return status;
    }
    return store_objects_folder(options->store, &symbols->objects_folder, error);
}

// apart_move is files of projects on their way into the projects' folders.
struct apart_move {
    const struct symbol_store *symbols;
    enum ch_status status;
};

static void move_owned(void *context, const char *key)
{
    struct apart_move *move = context;
    struct symbol_file file;
    name_file_of_key(move->symbols, key, &file);
    if (move->status == CH_OK)
        move->status = symbol_folder_move(move->symbols->options.folder, file.folder,
                                          file.kind, file.id);
}

// set_apart gives projects their files out of a folder that an older release filled. It
// does so once: a file that comes there later, by hand, is everybody's.
static enum ch_status set_apart(const struct symbol_store *symbols,
                                char error[STORE_ERROR_SIZE])
{
    struct apart_move move = { symbols, CH_OK };
    char done[SYMBOL_FOLDER_PATH_SIZE];
    const char *folder = symbols->options.folder;
    bool fits = strlen(folder) <= SYMBOL_FOLDER_PATH_MAX;
    (void)snprintf(done, sizeof(done), "%.*s/.apart", SYMBOL_FOLDER_PATH_MAX, folder);
    if (fits && access(done, F_OK) == 0)
        return CH_OK;
    enum ch_status status =
        fits ? store_list_owned(symbols->options.store, "", move_owned, &move)
             : CH_ERR_LIMIT;
    if (status == CH_OK)
        status = move.status;
    if (status != CH_OK) {
        (void)snprintf(error, STORE_ERROR_SIZE,
                       "cannot move debug files of projects in '%.160s': %s", folder,
                       fits ? strerror(errno) : "its path is too long");
        return status;
    }
    // A folder that cannot be written to has nothing to move.
    int fd = file_make_parents(done, 0755)
                 ? open(done, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)
                 : -1;
    file_close(&fd);
    return CH_OK;
}

enum ch_status symbol_store_create(const struct symbol_store_options *options,
                                   struct symbol_store **out,
                                   char error[STORE_ERROR_SIZE])
{
    *out = NULL;
    struct symbol_store *symbols = calloc(1, sizeof(*symbols));
    (void)snprintf(error, STORE_ERROR_SIZE, "out of memory");
    if (symbols == NULL)
        return CH_ERR_NO_MEMORY;
    symbols->options = *options;
    pthread_mutex_init(&symbols->bringing, NULL);
    pthread_mutex_init(&symbols->lock, NULL);
    enum ch_status status = set_apart(symbols, error);
    if (status == CH_OK)
        status = open_symbol_objects(symbols, error);
    if (status != CH_OK) {
        symbol_store_destroy(symbols);
        return status;
    }
    *out = symbols;
    return CH_OK;
}

void symbol_store_destroy(struct symbol_store *symbols)
{
    if (symbols == NULL)
        return;
    object_store_close(symbols->objects);
    pthread_mutex_destroy(&symbols->bringing);
    pthread_mutex_destroy(&symbols->lock);
    text_deinit(&symbols->keys);
    free(symbols->places);
    free(symbols);
}

void symbol_store_give_up(struct symbol_store *symbols)
{
    object_store_give_up(symbols->objects);
}

const char *symbol_store_folder(const struct symbol_store *symbols)
{
    return symbols->options.folder;
}

static void take_key(void *context, const struct store_symbol_file *file)
{
    struct symbol_store *symbols = context;
    if (symbols->count == symbols->room) {
        size_t room = symbols->room == 0 ? 256 : 2 * symbols->room;
        size_t *places = realloc(symbols->places, room * sizeof(*places));
        if (places == NULL)
            return;
        symbols->places = places;
        symbols->room = room;
    }
    symbols->places[symbols->count++] = symbols->keys.size;
    text_append(&symbols->keys, file->key, strlen(file->key) + 1);
}

static int by_key(const void *a, const void *b, void *keys)
{
    return strcmp((const char *)keys + *(const size_t *)a,
                  (const char *)keys + *(const size_t *)b);
}

// is_key_listed returns true if a key is in the list.
static bool is_key_listed(const struct symbol_store *symbols, const char *key)
{
    size_t low = 0;
    size_t high = text_ok(&symbols->keys) ? symbols->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(symbols->keys.bytes + symbols->places[middle], key);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

// find_symbol_object finds out whether an object has a file; the list of them is read
// now and then, so that a page with many builds asks the store nothing.
static enum ch_status find_symbol_object(struct symbol_store *symbols, const char *key)
{
    enum ch_status status = CH_OK;
    if (symbols->objects == NULL)
        return CH_ERR_NOT_FOUND;
    pthread_mutex_lock(&symbols->lock);
    int64_t now_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    if (symbols->known_ms == 0 || now_ms - symbols->known_ms >= KNOWN_MS) {
        symbols->count = 0;
        text_clear(&symbols->keys);
        status = store_list_symbols(symbols->options.store, take_key, symbols);
        if (text_ok(&symbols->keys) && symbols->count != 0)
            qsort_r(symbols->places, symbols->count, sizeof(*symbols->places), by_key,
                    symbols->keys.bytes);
        symbols->known_ms = status == CH_OK ? now_ms : 0;
    }
    if (status == CH_OK && !is_key_listed(symbols, key))
        status = CH_ERR_NOT_FOUND;
    pthread_mutex_unlock(&symbols->lock);
    return status;
}

static bool is_in_folder(const struct symbol_file *file)
{
    return symbol_folder_has(file->folder, file->kind, file->id);
}

static bool has_file(struct symbol_store *symbols, const struct symbol_file *file)
{
    return is_in_folder(file) || find_symbol_object(symbols, file->key) == CH_OK;
}

static void forget_known(struct symbol_store *symbols)
{
    pthread_mutex_lock(&symbols->lock);
    symbols->known_ms = 0;
    pthread_mutex_unlock(&symbols->lock);
}

// find_owned names a project's file of a build, and returns whether there is one.
// Without a debug file, Breakpad's symbols or the program have names, too.
static bool find_owned(struct symbol_store *symbols, const char *project,
                       enum symbol_kind kind, const char *id, struct symbol_file *out)
{
    static const enum symbol_kind stand_ins[] = { SYMBOL_BREAKPAD, SYMBOL_PROGRAM };
    name_file(symbols, project, kind, id, out);
    bool found = has_file(symbols, out);
    for (size_t i = 0; kind == SYMBOL_DEBUG_FILE && !found &&
                       i < sizeof(stand_ins) / sizeof(stand_ins[0]);
         i++) {
        name_file(symbols, project, stand_ins[i], id, out);
        found = has_file(symbols, out);
    }
    return found;
}

bool symbol_store_owns(struct symbol_store *symbols, const char *project,
                       enum symbol_kind kind, const char *id)
{
    struct symbol_file file;
    return symbol_folder_id_ok(id) && find_owned(symbols, project, kind, id, &file);
}

bool symbol_store_has(struct symbol_store *symbols, const char *project,
                      enum symbol_kind kind, const char *id)
{
    return symbol_store_owns(symbols, project, kind, id) ||
           (project[0] != 0 && symbol_store_owns(symbols, "", kind, id));
}

// find_preferred names the file of a build that a project gets, and returns true if
// that is its own: else it is everybody's. A program has few names, so everybody's
// debug file precedes it.
static bool find_preferred(struct symbol_store *symbols, const char *project,
                           enum symbol_kind kind, const char *id,
                           struct symbol_file *out)
{
    struct symbol_file shared;
    bool own = find_owned(symbols, project, kind, id, out);
    bool stands_in = own && kind == SYMBOL_DEBUG_FILE && out->kind == SYMBOL_PROGRAM;
    if (own && !stands_in)
        return true;
    bool found = find_owned(symbols, "", kind, id, &shared);
    if (own && (!found || shared.kind == SYMBOL_PROGRAM))
        return true;
    *out = shared;
    return false;
}

bool symbol_store_prefers_own(struct symbol_store *symbols, const char *project,
                              const char *id)
{
    struct symbol_file file;
    return symbol_folder_id_ok(id) &&
           find_preferred(symbols, project, SYMBOL_DEBUG_FILE, id, &file);
}

// name_file_for names the file of a build that a project gets; false: id is none.
static bool name_file_for(struct symbol_store *symbols, const char *project,
                          enum symbol_kind kind, const char *id,
                          struct symbol_file *out)
{
    if (!symbol_folder_id_ok(id))
        return false;
    (void)find_preferred(symbols, project, kind, id, out);
    return true;
}

bool symbol_store_found_key(struct symbol_store *symbols, const char *project,
                            enum symbol_kind kind, const char *id,
                            char out[SYMBOL_STORE_KEY_SIZE])
{
    struct symbol_file file;
    if (!name_file_for(symbols, project, kind, id, &file))
        return false;
    memcpy(out, file.key, sizeof(file.key));
    return true;
}

// note_use notes that a file is used: by its time in the folder, and in the store.
static void note_use(struct symbol_store *symbols, const struct symbol_file *used,
                     int fd)
{
    char error[STORE_ERROR_SIZE];
    struct stat file;
    int64_t now_ms = timestamp_now();
    if (fstat(fd, &file) != 0 ||
        now_ms - (int64_t)file.st_mtim.tv_sec * 1000 < TOUCH_MS)
        return;
    (void)futimens(fd, NULL);
    // What is not noted now is noted another time.
    enum ch_status status = store_symbol_used(symbols->options.store, used->key, now_ms,
                                              now_ms - TOUCH_MS, error);
    (void)status;
}

static void take_object_name(void *context, const struct store_symbol_file *file)
{
    (void)snprintf(context, OBJECT_NAME_SIZE, "%s", file->name);
}

// fetch_symbol_file fetches a file into its folder.
static enum ch_status fetch_symbol_file(struct symbol_store *symbols,
                                        const struct symbol_file *file)
{
    char name[OBJECT_NAME_SIZE] = "";
    char why[OBJECT_WHY_SIZE];
    struct symbol_upload upload = { .fd = -1 };
    enum ch_status status =
        store_symbol_find(symbols->options.store, file->key, take_object_name, name);
    if (status != CH_OK || name[0] == 0)
        return status != CH_OK ? status : CH_ERR_NOT_FOUND;
    status = symbol_upload_begin(file->folder, file->kind, file->id, &upload);
    if (status == CH_OK)
        status = symbol_object_get(symbols->objects, name, &upload, why);
    if (status == CH_OK)
        status = symbol_upload_check(&upload);
    upload.kind = file->kind;
    if (status == CH_OK)
        status = symbol_upload_finish(&upload);
    symbol_upload_abandon(&upload);
    return status;
}

// bring_symbol_file has a file that an object has in its folder.
static enum ch_status bring_symbol_file(struct symbol_store *symbols,
                                        const struct symbol_file *file)
{
    enum ch_status status = CH_OK;
    pthread_mutex_lock(&symbols->bringing);
    if (!is_in_folder(file))
        status = fetch_symbol_file(symbols, file);
    pthread_mutex_unlock(&symbols->bringing);
    return status;
}

// open_symbol_file opens a file of the folder, and notes that it is used.
static int open_symbol_file(struct symbol_store *symbols,
                            const struct symbol_file *file)
{
    int fd = symbol_folder_open(file->folder, file->kind, file->id);
    if (fd >= 0)
        note_use(symbols, file, fd);
    return fd;
}

int symbol_store_open(struct symbol_store *symbols, const char *project,
                      enum symbol_kind kind, const char *id)
{
    struct symbol_file file;
    if (!name_file_for(symbols, project, kind, id, &file))
        return -1;
    enum ch_status status = CH_OK;
    if (!is_in_folder(&file) && find_symbol_object(symbols, file.key) == CH_OK)
        status = bring_symbol_file(symbols, &file);
    (void)status; // what was not brought is not there
    return open_symbol_file(symbols, &file);
}

// bring_symbol_file_now is for requests.
static enum ch_status bring_symbol_file_now(struct symbol_store *symbols,
                                            const struct symbol_file *file)
{
    struct store *store = symbols->options.store;
    enum ch_status status = find_symbol_object(symbols, file->key);
    if (status != CH_OK)
        return status;
    if (!store_fetch_enter(store))
        return CH_ERR_LIMIT;
    status = bring_symbol_file(symbols, file);
    store_fetch_leave(store);
    if (status == CH_ERR_MALFORMED || status == CH_ERR_TRUNCATED)
        return CH_ERR_NOT_FOUND;
    return status == CH_OK || status == CH_ERR_NOT_FOUND ? status : CH_ERR_IO;
}

enum ch_status symbol_store_open_now(struct symbol_store *symbols, const char *project,
                                     enum symbol_kind kind, const char *id, int *out)
{
    struct symbol_file file;
    if (!name_file_for(symbols, project, kind, id, &file))
        return CH_ERR_NOT_FOUND;
    if (!is_in_folder(&file)) {
        enum ch_status status = bring_symbol_file_now(symbols, &file);
        if (status != CH_OK)
            return status;
    }
    int fd = open_symbol_file(symbols, &file);
    if (fd < 0) // it may have left the folder meanwhile
        return symbols->objects != NULL ? CH_ERR_IO : CH_ERR_NOT_FOUND;
    *out = fd;
    return CH_OK;
}

enum ch_status symbol_store_room(struct symbol_store *symbols,
                                 const struct symbol_kept *file, uint64_t size,
                                 int64_t quota, bool *out_room)
{
    char key[SYMBOL_STORE_KEY_SIZE];
    int64_t others = 0;
    *out_room = true;
    if (quota == 0)
        return CH_OK;
    symbol_store_key(file->project, file->kind, file->build_id, key);
    enum ch_status status =
        store_symbols_size(symbols->options.store, file->project, key, &others);
    *out_room = status == CH_OK && (uint64_t)others + size <= (uint64_t)quota;
    return status;
}

enum ch_status symbol_store_keep(struct symbol_store *symbols,
                                 const struct symbol_kept *kept,
                                 char error[STORE_ERROR_SIZE])
{
    char name[OBJECT_NAME_SIZE] = "";
    char why[OBJECT_WHY_SIZE] = "it is not there";
    char folder[OBJECT_NAME_SIZE / 2];
    char whose[SHA256_HEX_SIZE] = "";
    struct symbol_file file;
    struct stat stat;
    name_file(symbols, kept->project, kept->kind, kept->build_id, &file);
    int CH_CLEANUP(file_close) fd = symbol_folder_open(file.folder, file.kind, file.id);
    enum ch_status status = fd >= 0 && fstat(fd, &stat) == 0 ? CH_OK : CH_ERR_IO;
    int64_t size = status == CH_OK ? stat.st_size : 0;
    // A content that two projects sent is two objects: neither learns of the other's.
    if (file.project[0] != 0)
        sha256_hex(file.project, strlen(file.project), whose);
    if (status == CH_OK && symbols->objects != NULL) {
        (void)snprintf(folder, sizeof(folder), "symbols/%s%s%.16s",
                       symbols->objects_folder, whose[0] != 0 ? "/" : "", whose);
        status = symbol_object_put(symbols->objects, folder, fd, name, &size, why);
    }
    if (status != CH_OK) {
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot keep a debug file: %.200s",
                       why);
        return status;
    }
    const struct store_symbol_file row = { .key = file.key,
                                           .name = name,
                                           .project = file.project,
                                           .release = kept->release,
                                           .size = stat.st_size,
                                           .kept = size };
    status = store_symbol_keep(symbols->options.store, &row, timestamp_now(), error);
    forget_known(symbols);
    return status;
}

// symbol_removing is what one step removes.
struct symbol_removing {
    char keys[STORE_SYMBOLS_STEP][SYMBOL_STORE_KEY_SIZE];
    size_t count;
};

static void take_removable(void *context, const struct store_symbol_file *file)
{
    struct symbol_removing *removing = context;
    if (removing->count < STORE_SYMBOLS_STEP)
        (void)snprintf(removing->keys[removing->count++], SYMBOL_STORE_KEY_SIZE, "%s",
                       file->key);
}

enum ch_status symbol_store_remove(struct symbol_store *symbols, int64_t used_ms,
                                   const char *release, const char *project,
                                   size_t *out_removed, char error[STORE_ERROR_SIZE])
{
    struct symbol_removing removing = { 0 };
    *out_removed = 0;
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot list debug files");
    enum ch_status status = store_list_removable(
        symbols->options.store, used_ms, release, project, take_removable, &removing);
    for (size_t i = 0; status == CH_OK && i < removing.count; i++) {
        const char *key = removing.keys[i];
        struct symbol_file file;
        name_file_of_key(symbols, key, &file);
        // The row first: what is left in the folder then is a file that came by hand.
        status = store_symbol_forget(symbols->options.store, key, error);
        if (status == CH_OK)
            symbol_folder_remove(file.folder, file.kind, file.id);
    }
    if (status == CH_OK)
        *out_removed = removing.count;
    forget_known(symbols);
    return status;
}

// may_leave returns true if a file of the folder can be fetched again.
static bool may_leave(void *context, const char *project, enum symbol_kind kind,
                      const char *id)
{
    char key[SYMBOL_STORE_KEY_SIZE];
    symbol_store_key(project, kind, id, key);
    return find_symbol_object(context, key) == CH_OK;
}

enum ch_status symbol_store_tidy(struct symbol_store *symbols, bool *out_more,
                                 char error[STORE_ERROR_SIZE])
{
    const struct symbol_store_options *options = &symbols->options;
    int64_t now_ms = timestamp_now();
    size_t removed = 0;
    enum ch_status status = CH_OK;
    if (options->keep_ms != 0)
        status = symbol_store_remove(symbols, now_ms - options->keep_ms, NULL, "",
                                     &removed, error);
    *out_more = removed != 0;
    if (status != CH_OK)
        return status;
    symbol_folder_trim(options->folder,
                       symbols->objects != NULL ? options->cache_bytes : INT64_MAX,
                       may_leave, symbols);
    if (symbols->objects == NULL)
        return CH_OK;
    if (now_ms >= symbols->strays_ms) {
        status = store_drop_stray_symbols(options->store, symbols->objects, now_ms,
                                          &removed, error);
        symbols->strays_ms = removed != 0 ? now_ms : now_ms + TIMESTAMP_DAY_MS;
    }
    return status;
}
