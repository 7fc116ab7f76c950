// SPDX-License-Identifier: Apache-2.0
#include "cli/symbol_sources.h"

#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/interchange/source_bundle.h"
#include "report/value/source_file.h"
#include "symbolizer/names/source_paths.h"

// packing is what one bundle is made of: its index, and its contents in a separate file
// until the index is complete.
struct packing {
    struct symbol_sources *sources;
    int64_t changed_s;
    struct text index;
    FILE *contents;
    struct text file; // the source that is being read
};

static void close_source_file(FILE *const *file)
{
    if (*file != NULL)
        (void)fclose(*file);
}

static void packing_deinit(struct packing *packing)
{
    close_source_file(&packing->contents);
    text_deinit(&packing->index);
    text_deinit(&packing->file);
}

void symbol_sources_deinit(struct symbol_sources *sources)
{
    close_source_file(&sources->bundle);
    *sources = (struct symbol_sources){ 0 };
}

static enum ch_status append_source_file(FILE *from, struct text *out)
{
    char part[1 << 16];
    size_t got;
    while ((got = fread(part, 1, sizeof(part), from)) != 0)
        text_append(out, part, got);
    if (ferror(from))
        return CH_ERR_IO;
    return text_ok(out) ? CH_OK : CH_ERR_LIMIT;
}

// read_source reads the file at path. A file that grows meanwhile is read up to the
// limit of a bundle.
static enum ch_status read_source(struct packing *packing, const char *path,
                                  int64_t *out_changed_s)
{
    FILE *CH_CLEANUP(close_source_file) file = NULL;
    struct stat status = { 0 };
    text_deinit(&packing->file);
    packing->file = (struct text){ .limit_bytes = SOURCE_BUNDLE_FILE_BYTES };
    enum ch_status result = source_file_open(path, SOURCE_BUNDLE_FILE_BYTES, &file);
    if (result != CH_OK)
        return result;
    result = append_source_file(file, &packing->file);
    if (result == CH_OK && fstat(fileno(file), &status) == 0)
        *out_changed_s = status.st_mtime;
    if (result == CH_ERR_IO)
        return CH_ERR_NOT_FOUND;
    if (result == CH_OK && packing->file.size != 0 &&
        memchr(packing->file.bytes, 0, packing->file.size) != NULL)
        return CH_ERR_MALFORMED;
    return result;
}

static void count_refused(struct symbol_sources *sources, enum ch_status why)
{
    sources->absent += why == CH_ERR_NOT_FOUND || why == CH_ERR_NO_MEMORY;
    sources->unnamed += why == CH_ERR_UNSUPPORTED;
    sources->not_text += why == CH_ERR_MALFORMED;
    sources->too_large += why == CH_ERR_LIMIT;
}

static bool source_fits(const struct packing *packing, const char *path)
{
    const struct symbol_sources *sources = packing->sources;
    size_t line = strlen(path) + 16;
    return sources->taken < SOURCE_BUNDLE_FILES &&
           packing->index.size + line < SOURCE_BUNDLE_INDEX_BYTES &&
           sources->taken_bytes + packing->index.size + line + packing->file.size <
               SOURCE_BUNDLE_BYTES;
}

static enum ch_status add_source(struct packing *packing, const char *path)
{
    struct symbol_sources *sources = packing->sources;
    int64_t changed_s = 0;
    enum ch_status status = read_source(packing, path, &changed_s);
    if (status == CH_OK && !source_fits(packing, path)) {
        sources->past_limit++;
        return CH_OK;
    }
    if (status == CH_OK)
        status = source_bundle_write_file(&packing->index, path, packing->file.size);
    if (status != CH_OK) {
        count_refused(sources, status);
        return CH_OK;
    }
    size_t size = packing->file.size;
    if (size != 0 && fwrite(packing->file.bytes, 1, size, packing->contents) != size)
        return CH_ERR_IO;
    sources->taken++;
    sources->taken_bytes += size;
    sources->newer += changed_s > packing->changed_s;
    return CH_OK;
}

// write_source_bundle writes the bundle: the index, then the contents.
static enum ch_status write_source_bundle(struct packing *packing)
{
    struct symbol_sources *sources = packing->sources;
    char part[1 << 16];
    size_t got;
    FILE *bundle = tmpfile();
    if (bundle == NULL)
        return CH_ERR_IO;
    sources->bundle = bundle;
    sources->size = packing->index.size + sources->taken_bytes;
    bool whole = fwrite(packing->index.bytes, 1, packing->index.size, bundle) ==
                 packing->index.size;
    rewind(packing->contents);
    while (whole && (got = fread(part, 1, sizeof(part), packing->contents)) != 0)
        whole = fwrite(part, 1, got, bundle) == got;
    whole = whole && !ferror(packing->contents) && fflush(bundle) == 0;
    rewind(bundle);
    return whole ? CH_OK : CH_ERR_IO;
}

enum ch_status symbol_sources_pack(const char *path, int64_t changed_s,
                                   symbol_sources_tick *tick, void *context,
                                   struct symbol_sources *out)
{
    struct symbol_sources sources = { 0 };
    CH_CLEANUP(packing_deinit)
    struct packing packing = { .sources = &sources, .changed_s = changed_s };
    json_auto_t *paths = NULL;
    const char *source;
    json_t *unused;
    enum ch_status status = source_paths_read(path, &paths);
    if (status != CH_OK)
        return status;
    packing.contents = tmpfile();
    if (packing.contents == NULL)
        return CH_ERR_IO;
    source_bundle_write_begin(&packing.index);
    json_object_foreach(paths, source, unused)
    {
        if (status == CH_OK)
            status = add_source(&packing, source);
        tick(context);
    }
    source_bundle_write_end(&packing.index);
    if (status == CH_OK)
        status =
            text_ok(&packing.index) ? write_source_bundle(&packing) : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        *out = sources;
    else
        symbol_sources_deinit(&sources);
    return status;
}

void symbol_sources_describe(const struct symbol_sources *sources, struct text *out)
{
    const struct {
        size_t count;
        const char *what;
    } left_out[] = {
        { sources->absent, "not on this machine" },
        { sources->unnamed, "no source by name" },
        { sources->not_text, "no text" },
        { sources->too_large, "over 16 MiB" },
        { sources->past_limit, "past what one build may have" },
    };
    const char *before = sources->taken != 0 ? "; left out: " : "there are none: ";
    if (sources->taken != 0)
        text_appendf(out, "%zu %s of %.1f KiB", sources->taken,
                     sources->taken == 1 ? "file" : "files",
                     (double)sources->taken_bytes / 1024);
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        if (left_out[i].count == 0)
            continue;
        text_appendf(out, "%s%zu %s", before, left_out[i].count, left_out[i].what);
        before = ", ";
    }
    if (sources->newer != 0)
        text_appendf(out, "; %zu changed after the debug file", sources->newer);
}
