// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/server/api.h"
#include "collector/server/collector.h"
#include "collector/server/symbol_folder.h"
#include "collector/store/store_naming.h"

static void release_upload(void *state)
{
    symbol_upload_abandon(state);
    free(state);
}

// words holds what messages call the two kinds.
static const struct {
    const char *name;
    const char *names;
    const char *malformed;
} words[] = {
    [SYMBOL_DEBUG_FILE] = { "debug file", "debug files", "the body is no ELF file" },
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
    default:
        http_fail(request, 400, "%s", words[kind].malformed);
    }
}

static void get_file(struct http_request *request, enum symbol_kind kind)
{
    struct http_answer *answer = &request->answer;
    struct stat file;
    int fd = symbol_folder_open(collector_of(request)->symbols, kind, request->id);
    if (fd < 0 || fstat(fd, &file) != 0) {
        if (fd >= 0)
            close(fd);
        http_fail(request, 404, "there is no %s of build ID %.140s", words[kind].name,
                  request->id);
        return;
    }
    answer->status = 200;
    answer->content_type = "application/octet-stream";
    answer->is_file = true;
    answer->file = fd;
    answer->file_size = (uint64_t)file.st_size;
}

void api_get_symbols(struct http_request *request)
{
    get_file(request, SYMBOL_DEBUG_FILE);
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
    enum ch_status status =
        symbol_upload_begin(collector_of(request)->symbols, kind, request->id, upload);
    request->state = upload;
    request->state_destroy = release_upload;
    if (status != CH_OK) {
        upload->temporary[0] = 0;
        fail_upload(request, kind, status == CH_ERR_LIMIT ? CH_ERR_IO : status);
    }
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
    if (symbol_upload_write(upload, bytes, size) != CH_OK)
        fail_upload(request, upload->kind, CH_ERR_IO);
}

void api_put_symbols(struct http_request *request)
{
    struct symbol_upload *upload = request->state;
    enum ch_status status = symbol_upload_finish(upload);
    if (status != CH_OK) {
        fail_upload(request, upload->kind, status);
        return;
    }
    // The file is here; reports that lack its names are named in the background.
    // Sources name nothing: a page reads them when it is opened.
    char error[STORE_ERROR_SIZE];
    if (upload->kind == SYMBOL_DEBUG_FILE &&
        store_symbols_came(collector_of(request)->store, upload->build_id, error) !=
            CH_OK) {
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
