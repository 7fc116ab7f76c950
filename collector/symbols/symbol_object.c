// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/symbol_object.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "net/http.h"

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

enum ch_status symbol_object_put(struct object_store *objects, const char *folder,
                                 int fd, char out_name[OBJECT_NAME_SIZE],
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

enum ch_status symbol_object_get(struct object_store *objects, const char *name,
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
