// SPDX-License-Identifier: Apache-2.0
//
// `crashhook symbols upload`: sends debug files, and bundles of their sources, to
// collectors.
//
// How it works: send_all goes through the files for one collector. send_file opens one,
// reads its build ID, and calls symbols_send, which queries the collector for a file of
// that build and sends ours if there is none of the same size. With --sources,
// symbol_sources_pack makes a bundle of the sources that the line tables name and that
// are on this machine, and send_bundle sends it.
//
// A debug file may come from a stranger: only regular files that are sources by their
// name are opened, and their number and size are limited. A collector that cannot be
// reached ends the pass (out_down); a file that it refuses does not.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/hex.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/render/pen.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/delivery.h"
#include "cli/symbols_archive.h"
#include "formats/debug/elf.h"
#include "formats/interchange/breakpad_symbols.h"
#include "formats/interchange/source_bundle.h"
#include "net/http.h"
#include "report/value/frame_source.h"
#include "report/value/report.h"
#include "symbolizer/files/debug_elf.h"
#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/names/unit_index.h"
#include "symbolizer/search/guarded_child.h"
#include "upload/shipment.h"
#include "upload/target.h"

// The source files in the line tables of a debug file: those that a frame's `file` may
// name, spelled in the same way.
//
// The debug file is read in a child process with limits. Users: `crashhook symbols
// upload --sources`.

// SOURCE_PATHS_MAX limits their number, SOURCE_PATHS_TIMEOUT_MS the time.
enum { SOURCE_PATHS_MAX = 65536, SOURCE_PATHS_TIMEOUT_MS = 120000 };

enum { ANSWER_BYTES_MAX = 64 << 20 };

static void add_paths(json_t *paths, struct line_table *table)
{
    // Up to DWARF 4 count is itself the number of the last file (line_table_file).
    for (size_t i = 0; i <= table->files.count; i++) {
        const char *path = line_table_file(table, i);
        if (path == NULL || json_object_size(paths) >= SOURCE_PATHS_MAX)
            continue;
        // A path that is not UTF-8 is not added, as no report can name it.
        (void)json_object_set_new(paths, path, json_true());
    }
}

// list_paths lists those of file, whose code is at text.
static enum ch_status list_paths(const struct debug_elf *file, const uint64_t text[2],
                                 json_t *paths)
{
    struct unit_index units;
    Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (dwarf == NULL)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = unit_index_init(&units, dwarf, text, false);
    for (size_t i = 0; status == CH_OK && i < units.count; i++) {
        struct line_table files;
        unit_files(&units, &units.units[i], &files);
        add_paths(paths, &files);
        line_table_deinit(&files);
    }
    if (status == CH_OK)
        unit_index_deinit(&units);
    dwarf_end(dwarf);
    return status;
}

static enum ch_status find_source_paths(void *context, int to_parent)
{
    const char *path = context;
    struct debug_elf file = { 0 };
    struct debug_elf plain;
    uint64_t base;
    uint64_t text[2];
    json_auto_t *paths = json_object();
    enum ch_status status = debug_elf_open(&file, path);
    if (status != CH_OK)
        return status;
    status = debug_elf_layout(&file, &base, text);
    if (status == CH_OK && decompressed_debug_load_foreign(&plain, &file) == CH_OK) {
        status = list_paths(&plain, text, paths);
        debug_elf_close(&plain);
    } else if (status == CH_OK) {
        status = list_paths(&file, text, paths);
    }
    debug_elf_close(&file);
    return status == CH_OK ? guarded_child_answer(paths, to_parent) : status;
}

// source_paths_read stores an object whose keys are the paths, which the caller owns.
// CH_ERR_NOT_FOUND: the file at path has no line tables. CH_ERR_FAULT, CH_ERR_LIMIT: it
// crashed the child, or took too long.
CH_CHECKED static enum ch_status source_paths_read(const char *path, json_t **out)
{
    struct text CH_CLEANUP(text_deinit) answer = { .limit_bytes = ANSWER_BYTES_MAX };
    enum ch_status status =
        guarded_child_run(find_source_paths, (void *)(uintptr_t)path,
                          guarded_child_now_ms() + SOURCE_PATHS_TIMEOUT_MS, &answer);
    if (status != CH_OK)
        return status;
    json_t *paths = guarded_child_read(&answer);
    if (!json_is_object(paths)) {
        json_decref(paths);
        return CH_ERR_MALFORMED;
    }
    if (json_object_size(paths) == 0) {
        json_decref(paths);
        return CH_ERR_NOT_FOUND;
    }
    *out = paths;
    return CH_OK;
}

// Uploads of a debug file to a collector, PUT BASE/api/v1/symbols/BUILD_ID, and of a
// bundle of its sources, PUT BASE/api/v1/sources/BUILD_ID.
//
// The collector is first queried for its files of that build: a file of the same size
// is taken to be the same file. If the collector does not say, or has it of another
// release, the file is sent; of each build it keeps the program and the debug file.

struct symbols_file {
    const char *build_id; // in hex
    FILE *file;           // its position is at its beginning
    uint64_t size;
    bool sources;  // it is a source bundle
    bool code;     // it has the program
    char part[32]; // names its content: an upload can be resumed; empty: it is small
};

enum symbols_outcome {
    SYMBOLS_SENT,
    SYMBOLS_KNOWN,   // the collector has it already
    SYMBOLS_REFUSED, // why says why; it may take others
    SYMBOLS_DOWN,    // why says why; any other file would fail as well
};

struct symbols_upload {
    struct delivery delivery;
    struct progress progress;
    bool sources;        // send them too
    const char *release; // that they are of, as in a URL; NULL: none
    const struct target *target;
    const char *path; // of the file that is being sent
    bool in_folder;   // or in an archive: there may be other files, too
    size_t sent;      // files that the collector has
    bool down;        // the collector cannot be reached
    int result;       // of the files of an archive
};

static void show_symbols_progress(void *context, uint64_t sent, uint64_t size)
{
    struct symbols_upload *upload = context;
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    pen_escape(upload->path, &path);
    progress_show(&upload->progress, path.bytes != NULL ? path.bytes : "", sent, size);
}

static struct http_request request_for(const struct symbols_upload *upload,
                                       const char *method, const struct text *url)
{
    return (struct http_request){ .method = method,
                                  .url = url->bytes,
                                  .token = upload->delivery.queue.token,
                                  .timeout_ms = upload->delivery.queue.timeout_ms };
}

// write_symbols_url writes the address at BASE of a file, or of that file as a program.
static void write_symbols_url(struct symbols_upload *upload,
                              const struct symbols_file *file, bool program,
                              struct text *out)
{
    text_clear(out);
    text_appendf(out, program ? "%s/buildid/%s%s/executable" : "%s/api/v1/%s/%s",
                 upload->target->url,
                 program         ? ""
                 : file->sources ? "sources"
                                 : "symbols",
                 file->build_id);
    if (upload->release != NULL && upload->release[0] != 0)
        text_appendf(out, "?release=%s", upload->release);
}

// symbols_is_known asks the collector for the size of its file.
static bool symbols_is_known(struct symbols_upload *upload,
                             const struct symbols_file *file)
{
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    write_symbols_url(upload, file, file->code, &url);
    struct http_request request = request_for(upload, "HEAD", &url);
    if (!text_ok(&url))
        return false;
    request.keep = "content-length";
    if (http_send(&request, &reply) != CH_OK || reply.status != 200 ||
        reply.kept.size == 0)
        return false;
    char *end = NULL;
    unsigned long long size = strtoull(reply.kept.bytes, &end, 10);
    return *end == 0 && size == file->size;
}

// write_offset_url writes where a file is sent, and returns how much of it the
// collector has. Collectors that cannot resume have nothing.
static uint64_t write_offset_url(struct symbols_upload *upload,
                                 const struct symbols_file *file, struct text *out)
{
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    write_symbols_url(upload, file, false, out);
    if (file->part[0] == 0 || !text_ok(out))
        return 0;
    text_appendf(out, "%cpart=%s", strchr(out->bytes, '?') != NULL ? '&' : '?',
                 file->part);
    struct http_request request = request_for(upload, "GET", out);
    if (!text_ok(out) || http_send(&request, &reply) != CH_OK || reply.status != 200)
        return 0;
    json_auto_t *answer = verdict_answer(&reply);
    json_int_t offset = json_integer_value(json_object_get(answer, "offset"));
    if (offset <= 0 || (uint64_t)offset >= file->size)
        return 0;
    text_appendf(out, "&offset=%lld", (long long)offset);
    return (uint64_t)offset;
}

static enum symbols_outcome judge_symbols_answer(const struct http_reply *reply,
                                                 char *why, size_t why_size)
{
    struct verdict verdict;
    json_auto_t *answer = verdict_answer(reply);
    if ((reply->status == 200 || reply->status == 201) && json_is_object(answer))
        return SYMBOLS_SENT;
    verdict_begin(&verdict);
    if (reply->status >= 200 && reply->status < 300)
        verdict_down(&verdict,
                     "its answer is not a collector's; is the address right?");
    else
        verdict_refused(reply, "the file", report_string(answer, "error"), &verdict);
    (void)snprintf(why, why_size, "%s", verdict.why);
    return verdict.target_down ? SYMBOLS_DOWN : SYMBOLS_REFUSED;
}

// symbols_send sends one file; why is written unless the file was sent or known. It
// goes on when the connection broke, if more of the file has come each time.
static enum symbols_outcome symbols_send(struct symbols_upload *upload,
                                         const struct symbols_file *file, char *why,
                                         size_t why_size)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    uint64_t tried = UINT64_MAX;
    if (symbols_is_known(upload, file))
        return SYMBOLS_KNOWN;
    for (;;) {
        struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
        uint64_t offset = write_offset_url(upload, file, &url);
        if (tried != UINT64_MAX && offset <= tried)
            return SYMBOLS_DOWN;
        tried = offset;
        if (!text_ok(&url) || fseeko(file->file, (off_t)offset, SEEK_SET) != 0) {
            (void)snprintf(why, why_size, "out of memory");
            return SYMBOLS_DOWN;
        }
        struct http_request request = request_for(upload, "PUT", &url);
        request.content_type = "application/octet-stream";
        request.file = file->file;
        request.size = file->size - offset;
        // Debug files can be large: the upload may take any time while it progresses.
        request.least_rate = 1;
        request.progress = show_symbols_progress;
        request.context = upload;
        if (http_send(&request, &reply) == CH_OK)
            return judge_symbols_answer(&reply, why, why_size);
        (void)snprintf(why, why_size, "%s", reply.error);
    }
}

// The sources of a debug file, packed for its collector: those files of its line tables
// that are on this machine, in a bundle (formats/interchange/source_bundle.h).
//
// Their number and size are limited, and only regular files that are sources by their
// name are opened, because a debug file may come from a stranger.

// symbol_sources_tick is called now and then while work goes on.
typedef void symbol_sources_tick(void *context);

struct symbol_sources {
    FILE *bundle; // its position is at its beginning; the file has no name
    uint64_t size;
    size_t taken;
    uint64_t taken_bytes;
    size_t absent;     // not on this machine
    size_t unnamed;    // not sources by their names
    size_t not_text;   // with a NUL in them
    size_t too_large;  // for a bundle's limit of one file
    size_t past_limit; // beyond the limit of the bundle
    size_t newer;      // taken, but changed after the debug file
};

// packing is what one bundle is made of: its index, and its contents in a separate file
// until the index is complete.
struct packing {
    struct symbol_sources *sources;
    int64_t changed_s;
    struct text index;
    FILE *contents;
    struct text file; // the source that is being read
};

static void close_symbol_file(FILE *const *file)
{
    if (*file != NULL)
        (void)fclose(*file);
}

static void packing_deinit(struct packing *packing)
{
    close_symbol_file(&packing->contents);
    text_deinit(&packing->index);
    text_deinit(&packing->file);
}

static void symbol_sources_deinit(struct symbol_sources *sources)
{
    close_symbol_file(&sources->bundle);
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
    FILE *CH_CLEANUP(close_symbol_file) file = NULL;
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

// symbol_sources_pack packs the sources of the debug file at path, which was last
// changed at changed_s. CH_ERR_NOT_FOUND: it has no line tables. Other failures are
// those of reading it, or of the bundle's temporary file (CH_ERR_IO).
CH_CHECKED static enum ch_status
symbol_sources_pack(const char *path, int64_t changed_s, symbol_sources_tick *tick,
                    void *context, struct symbol_sources *out)
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

// symbol_sources_describe appends what was done with the files: `12 files of 34 KiB;
// left out: 3 not on this machine`.
static void symbol_sources_describe(const struct symbol_sources *sources,
                                    struct text *out)
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

enum {
    BUILD_ID_MAX_BYTES = 64,
    BREAKPAD_MAX_BYTES = 1 << 30,
    LARGE_BYTES = 64 << 20, // a debug file whose line tables take noticeable time
};

static void say_symbols_line(void *context, const char *line)
{
    struct symbols_upload *upload = context;
    progress_clear(&upload->progress);
    (void)command_fail("%s", line);
}

static int cannot_send(struct symbols_upload *upload, const char *what, const char *why)
{
    progress_clear(&upload->progress);
    return command_fail("cannot send %s'%s': %s", what, upload->path, why);
}

static void tick_progress(void *context)
{
    struct symbols_upload *upload = context;
    struct text CH_CLEANUP(text_deinit) what = { 0 };
    text_append_string(&what, "reading the sources of ");
    pen_escape(upload->path, &what);
    progress_show(&upload->progress, what.bytes != NULL ? what.bytes : "", 1, 0);
}

// read_symbols_file reads the build ID of the ELF file fd and what else is known of it;
// false: it has none.
static bool read_symbols_file(int fd, struct symbols_file *file, char *out)
{
    enum { RESUMED_MIN = 4 << 20 };
    const size_t size = file->size;
    struct elf_section text;
    struct elf_view view;
    const uint8_t *build_id = NULL;
    size_t length = 0;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    bool found = elf_view_init(&view, bytes, size) == CH_OK &&
                 elf_view_build_id(&view, &build_id, &length) == CH_OK && length != 0 &&
                 length <= BUILD_ID_MAX_BYTES;
    if (found)
        hex_encode(build_id, length, out);
    if (found && size >= RESUMED_MIN)
        (void)snprintf(file->part, sizeof(file->part), "%zx-%08x", size,
                       crc32c(bytes, size));
    file->code = found && elf_view_find_section(&view, ".text", &text, NULL) == CH_OK &&
                 text.type != ELF_SHT_NOBITS;
    (void)munmap(bytes, size);
    return found;
}

// make_symbols_file makes an ELF file of Breakpad's symbols in from; NULL: why says
// what is wrong.
static FILE *make_symbols_file(FILE *from, uint64_t *out_size, const char **out_why)
{
    struct text CH_CLEANUP(text_deinit) symbols = { 0 };
    struct text CH_CLEANUP(text_deinit) made = { 0 };
    uint8_t build_id[BREAKPAD_BUILD_ID_MAX];
    size_t size = 0;
    uint16_t machine = 0;
    *out_why = "no symbols can be made of it";
    if (text_read(&symbols, fileno(from), BREAKPAD_MAX_BYTES) != CH_OK)
        return NULL;
    const struct cursor text = cursor_over(symbols.bytes, symbols.size);
    if (!breakpad_symbols_build(text, &machine, build_id, &size)) {
        *out_why = "it has no INFO CODE_ID with the build ID of a program for Linux";
        return NULL;
    }
    if (breakpad_symbols_to_elf(text, machine, build_id, size, &made) != CH_OK)
        return NULL;
    FILE *file = tmpfile();
    bool whole = file != NULL && fwrite(made.bytes, 1, made.size, file) == made.size &&
                 fflush(file) == 0;
    if (file != NULL)
        rewind(file);
    if (file != NULL && !whole)
        (void)fclose(file);
    *out_why = strerror(errno);
    *out_size = made.size;
    return whole ? file : NULL;
}

// is_breakpad_file returns true if a file begins as Breakpad's symbols for Linux do.
static bool is_breakpad_file(FILE *file)
{
    static const char begin[] = "MODULE Linux ";
    char head[sizeof(begin) - 1];
    return pread(fileno(file), head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           memcmp(head, begin, sizeof(head)) == 0;
}

// open_debug_file opens the file at path, which must be a regular file.
static FILE *open_debug_file(const char *path, uint64_t *out_size, const char **out_why)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        *out_why = strerror(errno);
        return NULL;
    }
    FILE *file = NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        file = fdopen(fd, "rb");
    if (file == NULL) {
        *out_why = "it is no plain file";
        (void)close(fd);
        return NULL;
    }
    *out_size = (uint64_t)status.st_size;
    return file;
}

// say_outcome prints the one line about a file that was not refused.
static void say_outcome(struct symbols_upload *upload, const char *outcome)
{
    const struct pen pen = { .to = stdout };
    upload->sent++;
    progress_clear(&upload->progress);
    pen_text(&pen, upload->path);
    pen_plain(&pen, ": %s\n", outcome);
    (void)fflush(stdout);
}

static const char *words_for(enum ch_status status)
{
    switch (status) {
    case CH_ERR_NOT_FOUND:
        return "it has no line tables";
    case CH_ERR_FAULT:
    case CH_ERR_MALFORMED:
        return "its line tables are damaged";
    case CH_ERR_LIMIT:
        return "its line tables take too long to read";
    case CH_ERR_IO:
        return strerror(errno);
    default:
        return "out of memory";
    }
}

// send_bundle sends what was packed. out_down is as in send_file.
static int send_bundle(struct symbols_upload *upload, const char *build_id,
                       const struct symbol_sources *sources, bool *out_down)
{
    static const char what[] = "the sources of ";
    char why[256] = "";
    char line[512];
    struct text CH_CLEANUP(text_deinit) about = { 0 };
    const struct symbols_file file = { .build_id = build_id,
                                       .file = sources->bundle,
                                       .size = sources->size,
                                       .sources = true };
    symbol_sources_describe(sources, &about);
    if (sources->taken == 0 && upload->in_folder)
        return COMMAND_DONE;
    if (sources->taken == 0)
        return cannot_send(upload, what, about.bytes != NULL ? about.bytes : "none");
    enum symbols_outcome outcome = symbols_send(upload, &file, why, sizeof(why));
    *out_down = outcome == SYMBOLS_DOWN;
    if (outcome == SYMBOLS_DOWN || outcome == SYMBOLS_REFUSED)
        return cannot_send(upload, what, why);
    (void)snprintf(line, sizeof(line),
                   outcome == SYMBOLS_KNOWN ? "the collector has its sources already"
                                            : "sources sent, %s",
                   about.bytes);
    say_outcome(upload, line);
    return COMMAND_DONE;
}

// send_sources packs and sends the sources of an opened debug file.
static int send_sources(struct symbols_upload *upload, const struct symbols_file *file,
                        bool *out_down)
{
    struct symbol_sources CH_CLEANUP(symbol_sources_deinit) sources = { 0 };
    struct stat status = { 0 };
    (void)fstat(fileno(file->file), &status);
    if (file->size >= LARGE_BYTES)
        progress_announce(&upload->progress, "reading line tables");
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file->file));
    const char *real = access(upload->path, F_OK) == 0 ? upload->path : path;
    enum ch_status packed =
        symbol_sources_pack(real, status.st_mtime, tick_progress, upload, &sources);
    if (packed == CH_ERR_NOT_FOUND && upload->in_folder) // a stripped program
        return COMMAND_DONE;
    if (packed != CH_OK)
        return cannot_send(upload, "the sources of ", words_for(packed));
    return send_bundle(upload, file->build_id, &sources, out_down);
}

// send_opened sends one file and, if requested, its sources. out_down: the collector
// cannot be reached, so that other files would fail too.
static int send_opened(struct symbols_upload *upload, FILE *opened, uint64_t size,
                       bool *out_down)
{
    char build_id[2 * BUILD_ID_MAX_BYTES + 1];
    char why[256] = "";
    char line[2 * BUILD_ID_MAX_BYTES + 64];
    const char *trouble = NULL;
    struct symbols_file file = { .build_id = build_id, .size = size };
    FILE *CH_CLEANUP(close_symbol_file) made = NULL;
    bool breakpad = is_breakpad_file(opened);
    if (breakpad && (made = make_symbols_file(opened, &file.size, &trouble)) == NULL)
        return cannot_send(upload, "", trouble);
    file.file = breakpad ? made : opened;
    if (!read_symbols_file(fileno(file.file), &file, build_id))
        return upload->in_folder
                   ? COMMAND_DONE
                   : cannot_send(upload, "", "it is no ELF file with a build ID");
    enum symbols_outcome outcome = symbols_send(upload, &file, why, sizeof(why));
    *out_down = outcome == SYMBOLS_DOWN;
    if (outcome == SYMBOLS_DOWN || outcome == SYMBOLS_REFUSED)
        return cannot_send(upload, "", why);
    (void)snprintf(line, sizeof(line),
                   outcome == SYMBOLS_KNOWN ? "the collector has build ID %s already"
                                            : "sent, build ID %s",
                   build_id);
    say_outcome(upload, line);
    return upload->sources && !breakpad ? send_sources(upload, &file, out_down)
                                        : COMMAND_DONE;
}

// send_unpacked sends a file of the archive at the upload's path.
static bool send_unpacked(void *context, FILE *file, const char *name)
{
    struct symbols_upload *upload = context;
    const char *archive = upload->path;
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct stat status = { 0 };
    text_appendf(&path, "%s: ", archive);
    pen_escape(name, &path);
    upload->path = text_ok(&path) ? path.bytes : archive;
    (void)fstat(fileno(file), &status);
    upload->result |=
        send_opened(upload, file, (uint64_t)status.st_size, &upload->down);
    upload->path = archive;
    return !upload->down;
}

// send_file sends the file, or the files of the archive, at the upload's path.
static int send_file(struct symbols_upload *upload, bool *out_down)
{
    uint64_t size = 0;
    const char *trouble = NULL;
    const bool in_folder = upload->in_folder;
    const size_t sent = upload->sent;
    FILE *CH_CLEANUP(close_symbol_file) file =
        open_debug_file(upload->path, &size, &trouble);
    if (file == NULL)
        return cannot_send(upload, "", trouble);
    if (!symbols_archive_begins(file))
        return send_opened(upload, file, size, out_down);
    upload->in_folder = true;
    upload->result = COMMAND_DONE;
    enum ch_status status = symbols_archive_read(file, send_unpacked, upload, &trouble);
    upload->in_folder = in_folder;
    *out_down = upload->down;
    if (status == CH_OK && upload->sent == sent && upload->result == COMMAND_DONE)
        trouble = "there are no debug files in it";
    else if (status == CH_OK)
        return upload->result;
    // Other files in a folder, as manual pages are, may be compressed, too.
    return in_folder && (status == CH_OK || status == CH_ERR_UNSUPPORTED ||
                         status == CH_ERR_NOT_FOUND)
               ? COMMAND_DONE
               : cannot_send(upload, "", trouble);
}

// walk is what nftw, which passes nothing on, sends files for; it is the thread's.
static _Thread_local struct {
    struct symbols_upload *upload;
    int result;
    bool is_down;
} walk;

static int send_entry(const char *path, const struct stat *status, int type,
                      struct FTW *where)
{
    (void)where;
    walk.upload->path = path;
    if (type == FTW_F && S_ISREG(status->st_mode))
        walk.result |= send_file(walk.upload, &walk.is_down);
    else if (type == FTW_DNR || type == FTW_NS)
        walk.result |= cannot_send(walk.upload, "", "it cannot be read");
    return walk.is_down;
}

// send_path sends a file, or all files with a build ID below a folder. Links are not
// followed but for path itself: most lead to a file beside them.
static int send_path(struct symbols_upload *upload, const char *path, bool *out_down)
{
    enum { FOLDERS_OPEN = 16 };
    struct stat status;
    upload->path = path;
    upload->in_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    if (!upload->in_folder)
        return send_file(upload, out_down);
    char *root = realpath(path, NULL);
    walk.upload = upload;
    walk.result = COMMAND_DONE;
    walk.is_down = false;
    if (root == NULL || nftw(root, send_entry, FOLDERS_OPEN, FTW_PHYS) < 0) {
        upload->path = path;
        walk.result |= cannot_send(upload, "", strerror(errno));
    }
    free(root);
    if (walk.is_down)
        (void)command_fail("left out the other files of '%s'", path);
    *out_down = walk.is_down;
    return walk.result;
}

// send_all sends every file to one collector; it stops if the collector is down.
static int send_all(struct symbols_upload *upload, const struct target *target,
                    const struct options *options)
{
    int result = COMMAND_DONE;
    bool down = false;
    upload->target = target;
    for (size_t i = 0; i < options->argument_count && !down; i++) {
        result |= send_path(upload, options->arguments[i], &down);
        if (down && i + 1 < options->argument_count)
            (void)command_fail("left out the other files: %zu of them",
                               options->argument_count - i - 1);
    }
    return result;
}

static int run_symbols_upload(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct symbols_upload upload = { .path = "",
                                     .sources = options_given(options, "sources") };
    struct text CH_CLEANUP(text_deinit) release = { 0 };
    int result = COMMAND_DONE;
    size_t collectors = 0;
    session_init(&session, options);
    progress_init(&upload.progress);
    if (session.settings.url == NULL)
        return command_misused("symbols upload: --url says which collector to send to");
    if (session.settings.release != NULL)
        collector_encode(&release, session.settings.release);
    if (!text_ok(&release))
        return command_fail("cannot send debug files: out of memory");
    upload.release = release.bytes;
    if (delivery_init(&upload.delivery, &session, say_symbols_line, &upload) != CH_OK)
        result = COMMAND_FAILED;
    const struct target_list *targets = &upload.delivery.queue.targets;
    for (size_t i = 0; i < targets->count && result != COMMAND_FAILED; i++) {
        if (targets->targets[i].kind != TARGET_KIND_COLLECTOR)
            continue;
        collectors++;
        result |= send_all(&upload, &targets->targets[i], options);
    }
    if (collectors == 0 && result == COMMAND_DONE)
        result = command_fail("cannot send debug files: '%s' names no collector",
                              session.settings.url);
    delivery_deinit(&upload.delivery);
    return result;
}

static const struct option symbols_upload_options[] = {
    { "url", "URL", "the collector (as CRASHHOOK_URL)", 0 },
    { "release", "NAME", "the release that they are of (as CRASHHOOK_RELEASE)", 0 },
    { "sources", NULL, "send the source files that are on this machine too", 0 },
    { "token-file", "FILE", "file with the collector's token", 0 },
    { 0 },
};

const struct command symbols_upload_command = {
    .name = "symbols upload",
    .arguments = "FILE|FOLDER...",
    .summary = "Send debug files to a collector, by build ID",
    .options = symbols_upload_options,
    .run = run_symbols_upload,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};
