// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/api.h"
#include "collector/collector.h"
#include "collector/symbol_folder.h"

static void release(void *state)
{
    symbol_upload_abandon(state);
    free(state);
}

static void fail_upload(struct http_request *request, enum ch_status status)
{
    switch (status) {
    case CH_ERR_MALFORMED:
        http_fail(request, 400, "the body is no ELF file");
        break;
    case CH_ERR_NOT_FOUND:
        http_fail(request, 400, "the file is not of build ID %.140s", request->id);
        break;
    default:
        http_fail(request, 503, "the debug file could not be stored");
    }
}

void api_get_symbols(struct http_request *request)
{
    struct http_answer *answer = &request->answer;
    struct stat file;
    int fd = symbol_folder_open(collector_of(request)->symbols, request->id);
    if (fd < 0 || fstat(fd, &file) != 0) {
        if (fd >= 0)
            close(fd);
        http_fail(request, 404, "there is no debug file of build ID %.140s",
                  request->id);
        return;
    }
    answer->status = 200;
    answer->content_type = "application/octet-stream";
    answer->is_file = true;
    answer->file = fd;
    answer->file_size = (uint64_t)file.st_size;
}

void api_begin_symbols(struct http_request *request)
{
    if (!symbol_folder_id_ok(request->id)) {
        http_fail(request, 400, "a build ID is 4 to 128 lower-case hexadecimal digits");
        return;
    }
    if (request->content_encoding != NULL &&
        strcmp(request->content_encoding, "identity") != 0) {
        http_fail(request, 415, "debug files are taken as they are, not encoded");
        return;
    }
    struct symbol_upload *upload = calloc(1, sizeof(*upload));
    if (upload == NULL) {
        http_fail(request, 503, "out of memory");
        return;
    }
    upload->fd = -1;
    enum ch_status status =
        symbol_upload_begin(collector_of(request)->symbols, request->id, upload);
    request->state = upload;
    request->state_destroy = release;
    if (status != CH_OK) {
        upload->temporary[0] = 0;
        fail_upload(request, status);
    }
}

void api_take_symbols(struct http_request *request, const void *bytes, size_t size)
{
    if (symbol_upload_write(request->state, bytes, size) != CH_OK)
        fail_upload(request, CH_ERR_IO);
}

void api_put_symbols(struct http_request *request)
{
    struct symbol_upload *upload = request->state;
    enum ch_status status = symbol_upload_finish(upload);
    if (status != CH_OK) {
        fail_upload(request, status);
        return;
    }
    metrics_count(&collector_of(request)->metrics.debug_files);
    api_answer_json(request, upload->existed ? 200 : 201,
                    json_pack("{s:s}", "build_id", upload->build_id));
}
