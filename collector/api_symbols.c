// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "collector/database/timestamp.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/store/store_symbolization.h"
#include "collector/store/store_symbols.h"
#include "collector/symbols/build_sources.h"
#include "collector/symbols/symbol_store.h"

static void release_upload(void *state)
{
    symbol_upload_abandon(state);
    free(state);
}

// words holds what messages call the kinds.
static const struct {
    const char *name;
    const char *names;
    const char *malformed;
} words[] = {
    [SYMBOL_DEBUG_FILE] = { "debug file", "debug files", "the body is no ELF file" },
    [SYMBOL_PROGRAM] = { "executable", "executables", "the body is no ELF file" },
    [SYMBOL_BREAKPAD] = { "symbol file", "symbol files", "the body is no ELF file" },
    [SYMBOL_SOURCES] = { "source bundle", "source bundles",
                         "the body is no whole source bundle" },
};

static void fail_upload(struct http_request *request, enum symbol_kind kind,
                        enum ch_status status)
{
    switch (status) {
    case CH_ERR_NOT_FOUND:
        http_fail(request, 400, "the file is not of build ID %.140s", request->id);
        break;
    case CH_ERR_IO:
    case CH_ERR_NO_MEMORY:
        http_fail(request, 503, "the %s could not be stored", words[kind].name);
        break;
    case CH_ERR_TRUNCATED:
        http_fail(request, 400, "what came is not what part names, send it again");
        break;
    default:
        http_fail(request, 400, "%s", words[kind].malformed);
    }
}

// owner is the caller that asks whose a file is.
struct owner {
    const struct access_grant *who;
    bool other;
};

static void take_file_owner(void *context, const struct store_build *build)
{
    struct owner *owner = context;
    owner->other =
        build->sender[0] != 0 &&
        strcmp(build->sender, owner->who->named ? owner->who->name : "") != 0;
}

// write_owner_key writes under which key it is kept who sent a file first: one name has
// all ELF files of a build.
static void write_owner_key(struct http_request *request, enum symbol_kind kind,
                            const char *id, char out[SYMBOL_STORE_KEY_SIZE])
{
    symbol_store_key(request->who.project,
                     kind == SYMBOL_SOURCES ? kind : SYMBOL_DEBUG_FILE, id, out);
}

// is_owned_by_other returns true if another name of the client's project sent a file
// first.
static bool is_owned_by_other(struct http_request *request, enum symbol_kind kind,
                              const char *id)
{
    struct owner owner = { &request->who, false };
    char key[SYMBOL_STORE_KEY_SIZE];
    write_owner_key(request, kind, id, key);
    enum ch_status status =
        store_find_build(collector_of(request)->store, key, take_file_owner, &owner);
    return status == CH_OK && owner.other;
}

static void take_project(void *context, const char *key)
{
    (void)snprintf(context, ENTRY_PROJECT_SIZE, "%.*s",
                   (int)(store_build_of(key) - key) - 1, key);
}

// find_reader finds for which project a file is read: the client's. A client of all
// projects gets everybody's file of a build, else that of some project.
static enum ch_status find_reader(struct http_request *request, enum symbol_kind kind,
                                  char out[ENTRY_PROJECT_SIZE])
{
    struct collector *collector = collector_of(request);
    char key[SYMBOL_STORE_KEY_SIZE];
    entry_copy(out, ENTRY_PROJECT_SIZE, request->who.project);
    if (out[0] != 0 || symbol_store_owns(collector->symbols, "", kind, request->id))
        return CH_OK;
    symbol_store_key("", kind == SYMBOL_SOURCES ? kind : SYMBOL_DEBUG_FILE, request->id,
                     key);
    return store_list_owned(collector->store, key, take_project, out);
}

static void compare_release(void *context, const struct store_symbol_file *file)
{
    const char **release = context;
    if (strcmp(file->release, *release) == 0)
        *release = NULL;
}

// check_release gives CH_ERR_NOT_FOUND unless a file was sent with the release that is
// asked for, where one is: senders ask so whether to send it.
static enum ch_status check_release(struct http_request *request, const char *project,
                                    enum symbol_kind kind)
{
    struct symbol_store *symbols = collector_of(request)->symbols;
    const char *release = http_parameter_value(request, "release");
    char key[SYMBOL_STORE_KEY_SIZE];
    if (release == NULL)
        return CH_OK;
    if (!symbol_store_found_key(symbols, project, kind, request->id, key))
        return CH_OK;
    enum ch_status status =
        store_symbol_find(collector_of(request)->store, key, compare_release, &release);
    return status == CH_OK && release != NULL ? CH_ERR_NOT_FOUND : status;
}

// open_file opens a file that the client may see. Where there is none it answers with
// 404, and with 503 where that cannot be known or had now: clients of debuginfod
// remember for ten minutes what is not there. -1: it answered.
static int open_file(struct http_request *request, enum symbol_kind kind)
{
    enum { AGAIN_S = 10 };
    int fd = -1;
    char project[ENTRY_PROJECT_SIZE];
    enum ch_status status = find_reader(request, kind, project);
    if (status == CH_OK)
        status = check_release(request, project, kind);
    if (status == CH_OK)
        status = symbol_store_open_now(collector_of(request)->symbols, project, kind,
                                       request->id, &fd);
    if (status == CH_ERR_NOT_FOUND)
        http_fail(request, 404, "there is no %s of build ID %.140s", words[kind].name,
                  request->id);
    else if (status != CH_OK)
        http_later(request, 503, AGAIN_S, "the %s cannot be had now, ask again later",
                   words[kind].name);
    return fd;
}

static void get_file(struct http_request *request, enum symbol_kind kind)
{
    struct http_answer *answer = &request->answer;
    struct stat file;
    int fd = open_file(request, kind);
    if (fd < 0)
        return;
    if (fstat(fd, &file) != 0) {
        close(fd);
        http_fail(request, 500, "the %s cannot be read", words[kind].name);
        return;
    }
    answer->status = 200;
    answer->content_type = "application/octet-stream";
    answer->is_file = true;
    answer->file = fd;
    answer->file_size = (uint64_t)file.st_size;
}

// read_part reads what an upload is a part of. Of a project with a quota, which does
// not count what broke off, nothing is kept.
static struct symbol_part read_part(struct http_request *request)
{
    const char *name = http_parameter_value(request, "part");
    const char *offset = http_parameter_value(request, "offset");
    const char *sender = request->who.named ? request->who.name : "";
    struct access_project project;
    struct symbol_part part = { .sender = crc32c(sender, strlen(sender)) };
    part.offset = offset != NULL ? strtoull(offset, NULL, 10) : 0;
    if (name == NULL || (access_find_project(collector_of(request)->access,
                                             request->who.project, &project) &&
                         project.symbols != 0))
        return part;
    (void)snprintf(part.name, sizeof(part.name), "%s", name);
    return part;
}

void api_get_symbols(struct http_request *request)
{
    char folder[SYMBOL_FOLDER_PATH_SIZE];
    const struct symbol_part part = read_part(request);
    if (http_parameter_value(request, "part") == NULL) {
        get_file(request, SYMBOL_DEBUG_FILE);
        return;
    }
    symbol_folder_of(symbol_store_folder(collector_of(request)->symbols),
                     request->who.project, folder);
    uint64_t offset =
        part.name[0] != 0 ? symbol_upload_offset(folder, request->id, &part) : 0;
    api_answer_json(request, 200, json_pack("{s:I}", "offset", (json_int_t)offset));
}

void api_get_sources(struct http_request *request)
{
    get_file(request, SYMBOL_SOURCES);
}

static void begin_upload(struct http_request *request, enum symbol_kind kind)
{
    if (!symbol_folder_id_ok(request->id)) {
        http_fail(request, 400, "a build ID is 4 to 128 lower-case hexadecimal digits");
        return;
    }
    if (request->content_encoding != NULL &&
        strcmp(request->content_encoding, "identity") != 0) {
        http_fail(request, 415, "%s are taken as they are, not encoded",
                  words[kind].names);
        return;
    }
    struct symbol_upload *upload = calloc(1, sizeof(*upload));
    if (upload == NULL) {
        http_fail(request, 503, "out of memory");
        return;
    }
    upload->fd = -1;
    if (kind == SYMBOL_DEBUG_FILE)
        upload->part = read_part(request);
    char folder[SYMBOL_FOLDER_PATH_SIZE];
    symbol_folder_of(symbol_store_folder(collector_of(request)->symbols),
                     request->who.project, folder);
    enum ch_status status = symbol_upload_begin(folder, kind, request->id, upload);
    request->state = upload;
    request->state_destroy = release_upload;
    if (status != CH_OK)
        upload->temporary[0] = 0;
    if (status == CH_ERR_FAULT)
        http_fail(request, 409, "%llu bytes of this part have not come",
                  (unsigned long long)upload->part.offset);
    else if (status != CH_OK)
        fail_upload(request, kind, status == CH_ERR_LIMIT ? CH_ERR_IO : status);
}

void api_begin_symbols(struct http_request *request)
{
    begin_upload(request, SYMBOL_DEBUG_FILE);
}

void api_begin_sources(struct http_request *request)
{
    begin_upload(request, SYMBOL_SOURCES);
}

void api_take_symbols(struct http_request *request, const void *bytes, size_t size)
{
    struct symbol_upload *upload = request->state;
    enum ch_status status = symbol_upload_write(upload, bytes, size);
    if (status != CH_OK)
        fail_upload(request, upload->kind, status);
}

// keep_first answers as if the file had been taken: of names of one project the first
// writer's stays, and others do not learn that there is one.
static bool keep_first(struct http_request *request, struct symbol_upload *upload)
{
    if (!is_owned_by_other(request, upload->kind, upload->build_id) ||
        !symbol_store_owns(collector_of(request)->symbols, request->who.project,
                           upload->kind == SYMBOL_SOURCES ? SYMBOL_SOURCES
                                                          : SYMBOL_DEBUG_FILE,
                           upload->build_id))
        return false;
    api_answer_json(request, 201, json_pack("{s:s}", "build_id", upload->build_id));
    return true;
}

// symbol_kept_of is what is known of an upload.
static struct symbol_kept symbol_kept_of(const struct http_request *request,
                                         const struct symbol_upload *upload)
{
    const char *release = http_parameter_value(request, "release");
    return (struct symbol_kept){ .kind = upload->kind,
                                 .build_id = upload->build_id,
                                 .project = request->who.project,
                                 .release = release != NULL ? release : "" };
}

// keep_complete answers as if debug information had been taken where the project's file
// of the build has it, and the code as well.
static bool keep_complete(struct http_request *request,
                          const struct symbol_upload *upload)
{
    struct symbol_store *symbols = collector_of(request)->symbols;
    const char *project = request->who.project;
    if (upload->kind != SYMBOL_DEBUG_FILE || upload->has_code ||
        !symbol_store_owns(symbols, project, SYMBOL_DEBUG_FILE, upload->build_id))
        return false;
    int fd = symbol_store_open(symbols, project, SYMBOL_DEBUG_FILE, upload->build_id);
    const struct symbol_parts parts = symbol_folder_parts(fd);
    if (fd >= 0)
        close(fd);
    if (!parts.code || !parts.debug)
        return false;
    // It belongs to this release now, too: removing the older one leaves it.
    char error[STORE_ERROR_SIZE];
    const struct symbol_kept file = symbol_kept_of(request, upload);
    if (symbol_store_keep(symbols, &file, error) != CH_OK)
        http_fail(request, 503, "%s, send it again", error);
    else
        api_answer_json(request, 200, json_pack("{s:s}", "build_id", upload->build_id));
    return true;
}

// note_file_owner keeps who sent the file first, and queues the reports that lack its
// names.
static enum ch_status note_file_owner(struct http_request *request,
                                      const struct symbol_upload *upload)
{
    struct store *store = collector_of(request)->store;
    char error[STORE_ERROR_SIZE];
    char key[SYMBOL_STORE_KEY_SIZE];
    write_owner_key(request, upload->kind, upload->build_id, key);
    const struct store_build build = {
        .id = key,
        .project = request->who.project,
        .sender = request->who.named ? request->who.name : "",
    };
    // Sources name nothing: a page reads them when it is opened.
    return upload->kind != SYMBOL_SOURCES ? store_symbols_came(store, &build, error)
                                          : store_build_own(store, &build, error);
}

// symbols_have_room returns true if the file's project may keep so much; if not, it
// answers.
static bool symbols_have_room(struct http_request *request,
                              const struct symbol_upload *upload)
{
    struct collector *collector = collector_of(request);
    const struct symbol_kept file = symbol_kept_of(request, upload);
    struct access_project project;
    struct stat stat;
    bool room = true;
    if (!access_find_project(collector->access, file.project, &project) ||
        project.symbols == 0)
        return true;
    if (fstat(upload->fd, &stat) != 0 ||
        symbol_store_room(collector->symbols, &file, (uint64_t)stat.st_size,
                          project.symbols, &room) != CH_OK) {
        http_fail(request, 503, "it cannot be read what project %.63s keeps",
                  file.project);
        return false;
    }
    if (!room)
        http_fail(request, 413,
                  "project %.63s may keep %lld MB of debug files and sources, and this"
                  " one is more",
                  file.project, (long long)(project.symbols >> 20));
    return room;
}

void api_put_symbols(struct http_request *request)
{
    struct symbol_upload *upload = request->state;
    char error[STORE_ERROR_SIZE];
    enum ch_status status = symbol_upload_check(upload);
    if (status == CH_OK &&
        (keep_first(request, upload) || keep_complete(request, upload) ||
         !symbols_have_room(request, upload)))
        return;
    if (status == CH_OK)
        status = symbol_upload_finish(upload);
    if (status != CH_OK) {
        fail_upload(request, upload->kind, status);
        return;
    }
    const struct symbol_kept file = symbol_kept_of(request, upload);
    if (symbol_store_keep(collector_of(request)->symbols, &file, error) != CH_OK) {
        http_fail(request, 503, "%s, send it again", error);
        return;
    }
    // The file is here; reports that lack its names are named in the background.
    if (note_file_owner(request, upload) != CH_OK) {
        http_fail(request, 503,
                  "the %s is here, but the reports of its build could not"
                  " be queued, send it again",
                  words[upload->kind].name);
        return;
    }
    struct metrics *metrics = &collector_of(request)->metrics;
    metrics_count(upload->kind == SYMBOL_SOURCES ? &metrics->source_bundles
                                                 : &metrics->debug_files);
    api_answer_json(request, upload->existed ? 200 : 201,
                    json_pack("{s:s}", "build_id", upload->build_id));
}

void api_remove_symbols(struct http_request *request)
{
    enum { REMOVE_MS = 5000 };
    struct symbol_store *symbols = collector_of(request)->symbols;
    const char *release = http_parameter_value(request, "release");
    char error[STORE_ERROR_SIZE];
    int64_t now_ms = timestamp_now();
    size_t removed = 0;
    size_t sum = 0;
    if (release == NULL || release[0] == 0) {
        http_fail(request, 400, "which release's debug files are to be removed?");
        return;
    }
    if (!api_audit(request, "removed debug files", release))
        return;
    do {
        if (symbol_store_remove(symbols, now_ms + 1, release, request->who.project,
                                &removed, error) != CH_OK) {
            http_fail(request, 503, "%s", error);
            return;
        }
        sum += removed;
    } while (removed != 0 && timestamp_now() < now_ms + REMOVE_MS);
    api_answer_json(
        request, 200,
        json_pack("{s:I, s:b}", "removed", (json_int_t)sum, "more", removed != 0));
}

// get_source sends a file of a build's sources.
static void get_source(struct http_request *request, const char *path)
{
    struct build_sources sources;
    int fd = open_file(request, SYMBOL_SOURCES);
    if (fd < 0)
        return;
    struct http_answer *answer = &request->answer;
    bool found = build_sources_open(&sources, fd);
    if (found)
        found = build_sources_file(&sources, path, &answer->body) == CH_OK;
    build_sources_close(&sources);
    if (!found) {
        http_fail(request, 404, "there is no such source of build ID %.140s",
                  request->id);
        return;
    }
    answer->status = 200;
    answer->content_type = "application/octet-stream";
}

// get_executable sends a file that has the program itself.
static void get_executable(struct http_request *request)
{
    char project[ENTRY_PROJECT_SIZE];
    bool apart = find_reader(request, SYMBOL_PROGRAM, project) == CH_OK &&
                 symbol_store_has(collector_of(request)->symbols, project,
                                  SYMBOL_PROGRAM, request->id);
    get_file(request, apart ? SYMBOL_PROGRAM : SYMBOL_DEBUG_FILE);
    if (request->answer.status != 200 || symbol_folder_parts(request->answer.file).code)
        return;
    close(request->answer.file);
    request->answer.is_file = false;
    http_fail(request, 404, "there is no executable of build ID %.140s", request->id);
}

// get_section sends a section of the debug file, or, if that has not got it, of the
// program that was sent apart.
static void get_section(struct http_request *request, const char *name)
{
    static const enum symbol_kind kinds[] = { SYMBOL_DEBUG_FILE, SYMBOL_PROGRAM };
    struct http_answer *answer = &request->answer;
    for (size_t i = 0; i < 2 && answer->status != 503; i++) {
        get_file(request, kinds[i]);
        if (!answer->is_file)
            continue;
        if (symbol_folder_section(answer->file, name, &answer->file_offset,
                                  &answer->file_size))
            return;
        close(answer->file);
        answer->is_file = false;
    }
    if (answer->status != 503)
        http_fail(request, 404, "there is no such section of build ID %.140s",
                  request->id);
}

// api_get_symbol_key serves the keys of the Simple Symbol Query Protocol:
// NAME/elf-buildid-ID/NAME is a program, NAME/elf-buildid-sym-ID/NAME a debug file. A
// build ID of less than 20 bytes has zeros after it.
void api_get_symbol_key(struct http_request *request)
{
    static const char program[] = "/elf-buildid-";
    static const char debug[] = "/elf-buildid-sym-";
    enum { ID_LEAST = 8 };
    const char *key = strchrnul(request->path + strlen("/symbols/"), '/');
    bool is_debug = strncmp(key, debug, strlen(debug)) == 0;
    bool is_key = is_debug || strncmp(key, program, strlen(program)) == 0;
    const char *id = is_key ? key + strlen(is_debug ? debug : program) : "";
    size_t length = strcspn(id, "/");
    if (!is_key || length >= sizeof(request->id)) {
        http_fail(request, 404, "a key is NAME/elf-buildid-ID/NAME");
        return;
    }
    for (;; length -= 2) {
        (void)snprintf(request->id, sizeof(request->id), "%.*s", (int)length, id);
        if (is_debug)
            get_file(request, SYMBOL_DEBUG_FILE);
        else
            get_executable(request);
        if (request->answer.status != 404 || length <= ID_LEAST ||
            strncmp(id + length - 2, "00", 2) != 0)
            return;
        text_deinit(&request->answer.body); // there is none of that ID
    }
}

void api_get_build(struct http_request *request)
{
    static const char source[] = "source";
    const char *id = request->path + strlen("/buildid/");
    size_t length = strcspn(id, "/");
    const char *what = id + length + (id[length] == '/');
    (void)snprintf(request->id, sizeof(request->id), "%.*s",
                   length < sizeof(request->id) ? (int)length : 0, id);
    if (strcmp(what, "debuginfo") == 0)
        get_file(request, SYMBOL_DEBUG_FILE);
    else if (strcmp(what, "executable") == 0)
        get_executable(request);
    else if (strncmp(what, "source/", strlen("source/")) == 0)
        get_source(request, what + strlen(source));
    else if (strncmp(what, "section/", strlen("section/")) == 0)
        get_section(request, what + strlen("section/"));
    else
        http_fail(request, 404,
                  "a build has debuginfo, executable, section/NAME and source/PATH");
}
