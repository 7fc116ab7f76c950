// SPDX-License-Identifier: Apache-2.0
//
// `crashhook debug` makes a folder with a core of the report, links to the files of its
// images, and a script, and runs gdb on it. The folder goes when gdb ends. With --core
// it writes a core that any debugger opens, and runs none.
// Invariants: each file comes from here if its build ID is the image's, else from the
// collector; paths of the report are opened as regular files alone, and reach the
// debugger under names that are ours; what is kept for --core names nothing temporary.
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "cli/debug/debug_core.h"
#include "cli/debug/debug_script.h"
#include "cli/render/pen.h"
#include "cli/render/render.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "formats/debug/core_writer.h"
#include "formats/debug/elf.h"
#include "formats/interchange/source_bundle.h"
#include "report/value/around.h"
#include "report/value/report.h"

// The files that a debugger needs to show a report: each image itself if this machine
// has the same build, otherwise its debug file, from here or from a collector, and its
// sources from a collector.
//
// A path in a report comes from a stranger. It is opened as a regular file, compared by
// build ID, and reaches the debugger under a name that is ours.

struct debug_images {
    const struct session *session;
    const char *folder;    // into which links and files are put
    const char *collector; // its address; NULL: none is queried
    json_t *found;         // [{"number", "bias", "path"}]
    json_t *notes;         // messages about what is missing
    bool lasting;          // the core is used when the folder has gone
    bool incomplete;       // the file of an image with frames is not here
    struct debug_files files;
};

enum { ID_DIGITS = 128, SEGMENTS_MAX = 64, SHOWN_MAX_BYTES = 256 << 10 };

// mapped is an ELF file.
struct mapped {
    struct elf_view view;
    void *bytes;
    size_t size;
};

static void mapped_close(struct mapped *mapped)
{
    if (mapped->bytes != NULL)
        munmap(mapped->bytes, mapped->size);
}

// map_build maps the file at path if it is a regular ELF file of that build; without a
// build ID none is sure to be.
static bool map_build(const char *path, const char *build_id, struct mapped *out)
{
    struct stat status;
    const uint8_t *id = NULL;
    size_t size = 0;
    char digits[ID_DIGITS + 1];
    int CH_CLEANUP(file_close) fd =
        open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *out = (struct mapped){ 0 };
    if (build_id == NULL || fd < 0 || fstat(fd, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size == 0)
        return false;
    out->size = (size_t)status.st_size;
    out->bytes = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (out->bytes == MAP_FAILED)
        out->bytes = NULL;
    bool same = out->bytes != NULL &&
                elf_view_init(&out->view, out->bytes, out->size) == CH_OK &&
                elf_view_build_id(&out->view, &id, &size) == CH_OK &&
                size <= ID_DIGITS / 2;
    if (same)
        hex_encode(id, size, digits);
    if (same && strcmp(digits, build_id) == 0)
        return true;
    mapped_close(out);
    return false;
}

// lowest_vaddr is the page of the first loaded segment.
static uint64_t lowest_vaddr(const struct elf_view *view)
{
    struct elf_segment segment;
    uint64_t lowest = UINT64_MAX;
    for (uint32_t i = 0; elf_view_segment(view, i, &segment) == CH_OK; i++) {
        if (segment.type == ELF_PT_LOAD && segment.vaddr < lowest)
            lowest = segment.vaddr;
    }
    return lowest == UINT64_MAX ? 0 : lowest & ~(uint64_t)(CORE_PAGE - 1);
}

// add_library adds an image to the list that debuggers find libraries by. The first is
// the program, of which they need more.
static enum ch_status add_library(struct debug_files *files,
                                  const struct elf_view *view, uint64_t bias,
                                  const char *path)
{
    struct elf_segment dynamic = { 0 };
    struct elf_segment first = { 0 };
    bool has_dynamic = elf_view_find_segment(view, ELF_PT_DYNAMIC, &dynamic) == CH_OK;
    if (!array_reserve(&files->libraries, &files->library_capacity,
                       files->library_count, sizeof(files->libraries[0])))
        return CH_ERR_NO_MEMORY;
    files->libraries[files->library_count++] = (struct debug_library){
        .bias = bias, .dynamic = has_dynamic ? bias + dynamic.vaddr : 0, .path = path
    };
    if (files->library_count != 1)
        return CH_OK;
    files->entry = bias + view->header.entry;
    files->segment_count = view->header.segment_count;
    if (elf_view_find_segment(view, ELF_PT_LOAD, &first) == CH_OK)
        files->segments =
            bias + first.vaddr - first.offset + view->header.segment_offset;
    struct cursor c = elf_view_cursor(view, dynamic.offset, dynamic.file_size);
    const void *bytes = cursor_take(&c, (size_t)dynamic.file_size);
    if (has_dynamic && cursor_ok(&c) && bytes != NULL)
        text_append(&files->dynamic, bytes, (size_t)dynamic.file_size);
    return CH_OK;
}

// add_ranges adds the parts of an image's file that the process could not write. The
// first page, with the ELF header and the build ID, becomes part of the core, as the
// kernel has it.
static enum ch_status add_ranges(struct debug_files *files, const struct elf_view *view,
                                 uint64_t bias, const char *path)
{
    const uint64_t mask = CORE_PAGE - 1;
    struct elf_segment segment;
    for (uint32_t i = 0;
         i < SEGMENTS_MAX && elf_view_segment(view, i, &segment) == CH_OK; i++) {
        if (segment.type != ELF_PT_LOAD || (segment.flags & ELF_PF_W) != 0 ||
            segment.file_size == 0 || segment.file_size > view->size)
            continue;
        if (!array_reserve(&files->ranges, &files->range_capacity, files->range_count,
                           sizeof(files->ranges[0])))
            return CH_ERR_NO_MEMORY;
        uint64_t start = bias + segment.vaddr;
        bool first = segment.offset == 0 && view->size >= CORE_PAGE;
        files->ranges[files->range_count++] = (struct debug_range){
            .start = start & ~mask,
            .end = (start + segment.file_size + mask) & ~mask,
            .offset = segment.offset & ~mask,
            .path = path,
            .header = first ? files->headers.size : SIZE_MAX,
        };
        if (first)
            text_append(&files->headers, view->bytes, CORE_PAGE);
    }
    return CH_OK;
}

// image is one of the report's while its files are looked for.
struct image {
    size_t number;
    const char *path;
    const char *build_id; // NULL: none
    uint64_t base;
    bool mentioned; // by a frame
    bool program;
};

static bool is_build_id(const char *digits)
{
    size_t length = strlen(digits);
    return length >= 4 && length <= ID_DIGITS && length % 2 == 0 &&
           strspn(digits, "0123456789abcdef") == length;
}

// expand_path writes the path of an image here: reports have `~` for a home.
static void expand_path(const char *path, char out[PATH_MAX])
{
    const char *home = getenv("HOME");
    bool own = strncmp(path, "~/", 2) == 0 && home != NULL;
    (void)snprintf(out, PATH_MAX, "%s%s", own ? home : "", own ? path + 1 : path);
}

// note_image keeps an image that was found: the file at path becomes FOLDER/images/N.
static enum ch_status note_image(struct debug_images *images, const struct image *image,
                                 const struct mapped *mapped, const char *path,
                                 bool whole)
{
    char link[PATH_MAX];
    char bias[32];
    uint64_t moved = image->base - lowest_vaddr(&mapped->view);
    (void)snprintf(link, sizeof(link), "%s/images/%zu", images->folder, image->number);
    (void)snprintf(bias, sizeof(bias), "%#llx", (unsigned long long)moved);
    if (symlink(path, link) != 0)
        return CH_ERR_IO;
    json_t *found = json_pack("{s:i, s:s, s:s, s:s, s:s}", "number", (int)image->number,
                              "bias", bias, "path", image->path, "link",
                              images->lasting ? path : link, "file", path);
    if (json_array_append_new(images->found, found) != 0)
        return CH_ERR_NO_MEMORY;
    if (!whole)
        return CH_OK;
    // The paths of ranges and libraries live as long as `found`.
    const char *real = report_string(found, "file");
    // Without the program debuggers do not read the list.
    enum ch_status status =
        images->files.library_count == 0 && !image->program
            ? CH_OK
            : add_library(&images->files, &mapped->view, moved, real);
    return status == CH_OK ? add_ranges(&images->files, &mapped->view, moved,
                                        report_string(found, "link"))
                           : status;
}

// fetch_file gets a file of a build from the collector and writes it to path.
static bool fetch_file(const struct debug_images *images, const char *kind,
                       const char *build_id, const char *path)
{
    struct text CH_CLEANUP(text_deinit) from = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    if (images->collector == NULL)
        return false;
    text_appendf(&from, "/api/v1/%s/%s", kind, build_id);
    if (collector_find(images->session, images->collector, from.bytes, &body) != CH_OK)
        return false;
    (void)file_make_parents(path, 0700);
    return file_put(path, O_EXCL, body.bytes, body.size);
}

// write_debug_path writes where debuggers look for the debug file of a build in folder.
static void write_debug_path(const char *folder, const char *build_id,
                             char out[PATH_MAX])
{
    (void)snprintf(out, PATH_MAX, "%s/.build-id/%.2s/%s.debug", folder, build_id,
                   build_id + 2);
}

// find_debug_file finds the debug file of an image, here or at the collector.
static bool find_debug_file(const struct debug_images *images,
                            const struct image *image, char out[PATH_MAX])
{
    char folder[PATH_MAX - 64];
    if (image->build_id == NULL)
        return false;
    write_debug_path("/usr/lib/debug", image->build_id, out);
    if (access(out, R_OK) == 0)
        return true;
    (void)snprintf(folder, sizeof(folder), "%s/debug", images->folder);
    write_debug_path(folder, image->build_id, out);
    return image->mentioned && fetch_file(images, "symbols", image->build_id, out);
}

// is_inner_path returns true if a path from a bundle stays below the folder it is put
// in.
static bool is_inner_path(const char *path)
{
    return path[0] == '/' && strstr(path, "/../") == NULL && strlen(path) > 1 &&
           strcmp(path + strlen(path) - 1, "/") != 0;
}

// fetch_sources puts the collector's sources of a build below FOLDER/sources.
static void fetch_sources(const struct debug_images *images, const char *build_id)
{
    struct text CH_CLEANUP(text_deinit) from = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    text_appendf(&from, "/api/v1/sources/%s", build_id);
    if (images->collector == NULL ||
        collector_find(images->session, images->collector, from.bytes, &body) !=
            CH_OK ||
        source_bundle_check(body.bytes, body.size) != CH_OK)
        return;
    enum ch_status status = source_bundle_read(&reader, body.bytes, body.size);
    while (status == CH_OK)
        status = source_bundle_next(&reader, &file); // to where the index ends
    const char *contents = body.bytes + source_bundle_index_size(&reader);
    status = source_bundle_read(&reader, body.bytes, body.size);
    while (status == CH_OK && source_bundle_next(&reader, &file) == CH_OK) {
        char path[SOURCE_BUNDLE_PATH_BYTES + 1];
        char target[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%.*s", (int)file.path_size, file.path);
        if (!is_inner_path(path) || snprintf(target, sizeof(target), "%s/sources%s",
                                             images->folder, path) >= PATH_MAX)
            continue;
        (void)file_make_parents(target, 0700);
        (void)file_put(target, O_EXCL | O_NOFOLLOW, contents + file.offset, file.size);
    }
}

// find_image finds the files of one image.
static enum ch_status find_image(struct debug_images *images, const struct image *image)
{
    char path[PATH_MAX];
    char debug[PATH_MAX];
    struct elf_section section;
    struct mapped CH_CLEANUP(mapped_close) own = { 0 };
    struct mapped CH_CLEANUP(mapped_close) other = { 0 };
    expand_path(image->path, path);
    if (image->mentioned && image->build_id != NULL)
        fetch_sources(images, image->build_id);
    if (map_build(path, image->build_id, &own)) {
        bool complete =
            elf_view_find_section(&own.view, ".debug_info", &section, NULL) == CH_OK;
        // The debugger finds it by the build ID.
        if (!complete)
            (void)find_debug_file(images, image, debug);
        return note_image(images, image, &own, path, true);
    }
    if (find_debug_file(images, image, debug) &&
        map_build(debug, image->build_id, &other))
        return note_image(images, image, &other, debug, false);
    images->incomplete |= image->mentioned;
    if (image->mentioned && image->path[0] != '[') {
        char line[PATH_MAX + 160];
        (void)snprintf(line, sizeof(line), "no file of %s (build ID %s) is here",
                       image->path,
                       image->build_id != NULL ? image->build_id : "unknown");
        json_array_append_new(images->notes, json_string(line));
    }
    return CH_OK;
}

// mark_framed_images marks the images that frames are in.
static void mark_framed_images(const json_t *report, bool *mentioned, size_t count)
{
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *frames = json_object_get(
            json_object_get(json_array_get(threads, i), "backtrace"), "frames");
        for (size_t k = 0; k < json_array_size(frames); k++) {
            int64_t image = report_integer(json_array_get(frames, k), "image", -1);
            if (image >= 0 && (size_t)image < count)
                mentioned[image] = true;
        }
    }
}

// debug_images_init makes the folders; the caller has set lasting; debug_images_find
// fills the rest in from a report in expanded form, which must outlive it.
CH_CHECKED static enum ch_status debug_images_init(struct debug_images *images,
                                                   const struct session *session,
                                                   const char *folder,
                                                   const char *collector)
{
    static const char *const folders[] = { "images", "debug", "sources" };
    *images = (struct debug_images){ .session = session,
                                     .lasting = images->lasting,
                                     .folder = folder,
                                     .collector = collector,
                                     .found = json_array(),
                                     .notes = json_array() };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        if (mkdir(path, 0700) != 0)
            return CH_ERR_IO;
    }
    return images->found != NULL && images->notes != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

// program_number is the number of the program among the images; their count: it is not
// among them.
static size_t program_number(const json_t *report, const json_t *images)
{
    const char *program =
        report_string(json_object_get(report, "process"), "executable");
    size_t i = 0;
    for (; i < json_array_size(images) && program != NULL; i++) {
        const char *path = report_string(json_array_get(images, i), "path");
        if (path != NULL && strcmp(path, program) == 0)
            return i;
    }
    return json_array_size(images);
}

CH_CHECKED static enum ch_status debug_images_find(struct debug_images *images,
                                                   const json_t *report)
{
    const json_t *list = json_object_get(report, "images");
    size_t count = json_array_size(list);
    bool *mentioned = calloc(count + 1, sizeof(*mentioned));
    enum ch_status status = mentioned != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (mentioned != NULL)
        mark_framed_images(report, mentioned, count);
    // The program comes first, as in a process.
    size_t program = program_number(report, list);
    for (size_t k = 0; k <= count && status == CH_OK; k++) {
        size_t i = k == 0 ? program : k - 1;
        if (k != 0 && i == program)
            continue;
        const json_t *one = json_array_get(list, i);
        const char *base = report_string(one, "base");
        const char *build_id = report_string(one, "build_id");
        struct image image = { .number = i,
                               .path = report_string(one, "path"),
                               .build_id = build_id != NULL && is_build_id(build_id)
                                               ? build_id
                                               : NULL,
                               .mentioned = i < count && mentioned[i],
                               .program = k == 0 };
        if (image.path != NULL && base != NULL &&
            !json_is_true(json_object_get(one, "unloaded")) &&
            command_parse_address(base, &image.base))
            status = find_image(images, &image);
    }
    free(mentioned);
    return status;
}

static void debug_images_deinit(struct debug_images *images)
{
    json_decref(images->found);
    json_decref(images->notes);
    free(images->files.ranges);
    free(images->files.libraries);
    text_deinit(&images->files.headers);
    text_deinit(&images->files.dynamic);
}

enum { NOT_STARTED = 127 };

// debugging is one run of the command.
struct debugging {
    struct session *session;
    const json_t *report; // expanded
    const char *collector;
    char folder[TEMPORARY_FOLDER_SIZE];
    bool made;
};

static void debugging_deinit(struct debugging *debugging)
{
    if (debugging->made)
        temporary_folder_remove(debugging->folder);
}

static bool make_debug_folder(struct debugging *debugging)
{
    debugging->made = temporary_folder_make("debug", debugging->folder);
    // The name becomes part of commands of the debugger.
    if (debugging->made && strpbrk(debugging->folder, " \t\n\"'\\:") != NULL) {
        debugging_deinit(debugging);
        debugging->made = false;
        errno = EINVAL;
    }
    if (!debugging->made)
        (void)command_fail("cannot make a folder '%s': %s", debugging->folder,
                           strerror(errno));
    return debugging->made;
}

static bool write_debug_file(const struct debugging *debugging, const char *name,
                             const void *bytes, size_t size)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", debugging->folder, name);
    if (file_put(path, O_EXCL, bytes, size))
        return true;
    (void)command_fail("cannot write '%s': %s", path, strerror(errno));
    return false;
}

// frames_plan is the places of a thread's frames. Inlined calls are left out: the
// debugger finds them by itself.
static json_t *frames_plan(const json_t *thread, json_t *notes)
{
    json_t *chain = json_array();
    const json_t *frames =
        json_object_get(json_object_get(thread, "backtrace"), "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *address = report_string(frame, "address");
        const char *kind = report_string(frame, "kind");
        uint64_t value = 0;
        if (kind != NULL && strcmp(kind, "omit") == 0) {
            char line[128];
            (void)snprintf(line, sizeof(line),
                           "thread %lld: %lld frames are left out after #%zu",
                           (long long)report_integer(thread, "tid", 0),
                           (long long)report_integer(frame, "count", 0),
                           json_array_size(chain) - 1);
            json_array_append_new(notes, json_string(line));
        } else if (!json_is_true(json_object_get(frame, "inline")) && address != NULL &&
                   command_parse_address(address, &value)) {
            json_array_append_new(chain, json_integer((json_int_t)value));
        }
    }
    return chain;
}

// note_heap_event lists the stack of the allocation or the free of a misused block: its
// frames are no thread's.
static void note_heap_event(const json_t *event, const char *what, json_t *notes)
{
    const json_t *frames = report_frames(event);
    char line[512];
    if (json_array_size(frames) == 0)
        return;
    (void)snprintf(line, sizeof(line), "%s here by thread %lld:", what,
                   (long long)report_integer(event, "thread", 0));
    json_array_append_new(notes, json_string(line));
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = report_string(frame, "function");
        const char *file = report_string(frame, "file");
        const char *address = report_string(frame, "address");
        (void)snprintf(line, sizeof(line), "  %zu  %.160s at %.240s:%lld", i,
                       function != NULL  ? function
                       : address != NULL ? address
                                         : "?",
                       file != NULL ? file : "?",
                       (long long)report_integer(frame, "line", 0));
        json_array_append_new(notes, json_string(line));
    }
}

// has_stack returns true if the report has the memory of the thread's stack.
static bool has_stack(const json_t *report, const json_t *thread)
{
    const json_t *memory = json_object_get(report, "memory");
    int64_t tid = report_integer(thread, "tid", 0);
    for (size_t i = 0; i < json_array_size(memory); i++) {
        if (report_integer(json_array_get(memory, i), "thread", -1) == tid)
            return true;
    }
    return false;
}

// plan_json is what the script reads. A thread without frames there is unwound by the
// debugger itself: it needs the stack, and all files that frames are in.
static json_t *plan_json(const struct debugging *debugging,
                         const struct debug_images *images)
{
    const json_t *list = json_object_get(debugging->report, "threads");
    const char *summary =
        report_string(json_object_get(debugging->report, "crash"), "summary");
    const json_t *heap =
        json_object_get(json_object_get(debugging->report, "crash"), "heap");
    json_t *threads = json_array();
    bool arm = false;
    note_heap_event(json_object_get(heap, "freed"), "Freed", images->notes);
    note_heap_event(json_object_get(heap, "allocated"), "Allocated", images->notes);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *thread = json_array_get(list, i);
        arm |= report_string(json_object_get(thread, "registers"), "pc") != NULL;
        bool unwinds = !images->incomplete && has_stack(debugging->report, thread);
        json_array_append_new(
            threads,
            json_pack("{s:I, s:o}", "tid", (json_int_t)report_integer(thread, "tid", 0),
                      "frames",
                      unwinds ? json_array() : frames_plan(thread, images->notes)));
    }
    if (json_array_size(json_object_get(debugging->report, "memory")) == 0)
        json_array_append_new(images->notes,
                              json_string("the report has no memory: stacks and data"
                                          " cannot be read"));
    struct text CH_CLEANUP(text_deinit) around = { 0 };
    around_pointers_append(debugging->report, &around);
    around_memory_append(debugging->report, &around);
    const struct render_style style = { .preset = PRESET_MEDIUM };
    struct text CH_CLEANUP(text_deinit) shown = { 0 };
    (void)render_report_text(debugging->report, &style, SHOWN_MAX_BYTES, &shown);
    return json_pack("{s:o, s:O, s:O, s:s, s:s, s:s, s:s, s:s}", "threads", threads,
                     "images", images->found, "notes", images->notes, "summary",
                     summary != NULL ? summary : "a report without a crash", "pc",
                     arm ? "pc" : "rip", "sp", arm ? "sp" : "rsp", "around",
                     text_ok(&around) && around.size != 0 ? around.bytes : "", "report",
                     text_ok(&shown) && shown.size != 0 ? shown.bytes : "");
}

static bool write_script(const struct debugging *debugging,
                         const struct debug_images *images)
{
    struct text CH_CLEANUP(text_deinit) script = { 0 };
    json_auto_t *plan = plan_json(debugging, images);
    char *dumped = json_dumps(plan, JSON_COMPACT | JSON_ENSURE_ASCII);
    text_appendf(&script, "FOLDER = \"%s\"\n", debugging->folder);
    text_append(&script, debug_script_bytes, debug_script_size);
    bool written = dumped != NULL && text_ok(&script) &&
                   write_debug_file(debugging, "plan.json", dumped, strlen(dumped)) &&
                   write_debug_file(debugging, "debug.py", script.bytes, script.size);
    free(dumped);
    return written;
}

// make_debug_core finds the files of the images and makes a core. false: it said why.
static bool make_debug_core(const struct debugging *debugging,
                            struct debug_images *images, struct text *out)
{
    if (debug_images_init(images, debugging->session, debugging->folder,
                          debugging->collector) != CH_OK ||
        debug_images_find(images, debugging->report) != CH_OK) {
        (void)command_fail("cannot link the files of the report's images: %s",
                           strerror(errno));
        return false;
    }
    enum ch_status status = debug_core_write(debugging->report, &images->files, out);
    if (status != CH_OK) {
        (void)command_fail("cannot make a core of the report: %s",
                           status == CH_ERR_UNSUPPORTED
                               ? "it has no registers of amd64 or aarch64"
                               : "out of memory");
        return false;
    }
    return true;
}

// prepare_debugging writes all that gdb reads.
static bool prepare_debugging(struct debugging *debugging)
{
    struct debug_images CH_CLEANUP(debug_images_deinit) images = { 0 };
    struct text CH_CLEANUP(text_deinit) core = { 0 };
    return make_debug_core(debugging, &images, &core) &&
           write_debug_file(debugging, "core", core.bytes, core.size) &&
           write_script(debugging, &images);
}

// run_debugger runs gdb and returns its exit status. Ctrl-C is the debugger's.
static int run_debugger(const struct debugging *debugging,
                        const struct options *options, size_t first)
{
    char script[PATH_MAX];
    size_t count = options->argument_count - first;
    const char **arguments = calloc(count + 6, sizeof(*arguments));
    int status = 0;
    (void)snprintf(script, sizeof(script), "%s/debug.py", debugging->folder);
    if (arguments == NULL)
        return command_fail("cannot start gdb: out of memory");
    arguments[0] = "gdb";
    arguments[1] = "-q";
    arguments[2] = "-nx"; // a project's own .gdbinit is not for a stranger's report
    arguments[3] = "-x";
    arguments[4] = script;
    for (size_t i = 0; i < count; i++)
        arguments[5 + i] = options->arguments[first + i];
    (void)signal(SIGINT, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGINT, SIG_DFL);
        (void)execvp("gdb", (char *const *)(uintptr_t)arguments);
        arguments[0] = "gdb-multiarch";
        (void)execvp("gdb-multiarch", (char *const *)(uintptr_t)arguments);
        _exit(NOT_STARTED);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)signal(SIGINT, SIG_DFL);
    free(arguments);
    if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED))
        return command_fail("cannot start gdb: is it installed?");
    return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}

// read_debugged reads the report that the argument names, the newest one without, in
// expanded form.
static json_t *read_debugged(struct session *session, const char *argument,
                             struct text *collector)
{
    json_auto_t *report = NULL;
    struct text CH_CLEANUP(text_deinit) expanded = { 0 };
    bool url = argument != NULL && collector_is_url(argument);
    enum ch_status status = url ? collector_report(session, argument, &report)
                                : session_spool_report(session, argument, &report);
    if (status == CH_OK && url)
        status = collector_base(session, argument, collector);
    if (status == CH_OK)
        status = report_print_expanded(report, &expanded);
    return status == CH_OK ? json_loadb(expanded.bytes, expanded.size, 0, NULL) : NULL;
}

// write_lasting_core writes a core to path, with what goes with it, and says how to
// open it.
static int write_lasting_core(const struct debugging *debugging, const char *path,
                              bool vscode)
{
    struct debug_images CH_CLEANUP(debug_images_deinit) images = { .lasting = true };
    struct text CH_CLEANUP(text_deinit) core = { 0 };
    char real[PATH_MAX] = "";
    if (!make_debug_core(debugging, &images, &core))
        return COMMAND_FAILED;
    const bool to_stdout = strcmp(path, "-") == 0;
    if (to_stdout)
        (void)fwrite(core.bytes, 1, core.size, stdout);
    else if (!file_put(path, O_TRUNC, core.bytes, core.size) ||
             realpath(path, real) == NULL)
        return command_fail("cannot write '%s': %s", path, strerror(errno));
    const struct debug_launch launch = {
        .report = debugging->report,
        .core = real,
        .program =
            images.files.library_count != 0 ? images.files.libraries[0].path : NULL,
    };
    if (!has_stack(debugging->report, report_crashed_thread(debugging->report)))
        (void)fprintf(stderr,
                      "crashhook: the report has no stacks, so debuggers show the"
                      " innermost frame of each thread; CRASHHOOK_STACKS=yes"
                      " keeps them\n");
    const struct pen errors = { .to = stderr };
    for (size_t i = 0; i < json_array_size(images.notes); i++) {
        pen_plain(&errors, "crashhook: ");
        pen_text(&errors, json_string_value(json_array_get(images.notes, i)));
        pen_plain(&errors, "\n");
    }
    if (to_stdout)
        return COMMAND_DONE;
    if (!debug_launch_scripts(&launch) || (vscode && !debug_launch_vscode(&launch)))
        return COMMAND_FAILED;
    (void)printf("gdb -x %s.gdb %s %s\n", real,
                 launch.program != NULL ? launch.program : "PROGRAM", real);
    (void)printf("lldb -c %s%s%s -s %s.lldb\n", real, launch.program != NULL ? " " : "",
                 launch.program != NULL ? launch.program : "", real);
    return COMMAND_DONE;
}

static int run_debug(const struct options *options)
{
    const char *core = options_value(options, "core");
    bool vscode = options_given(options, "vscode");
    char name[64];
    if (core != NULL && vscode && strcmp(core, "-") == 0)
        return command_misused("debug: --vscode needs the core in a file");
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct text CH_CLEANUP(text_deinit) collector = { 0 };
    const char *first = options->argument_count != 0 ? options->arguments[0] : NULL;
    // What begins with a dash is the debugger's.
    bool named = first != NULL && (first[0] != '-' || first[1] == 0);
    session_init(&session, options);
    json_auto_t *report = read_debugged(&session, named ? first : NULL, &collector);
    struct debugging CH_CLEANUP(debugging_deinit)
        debugging = { .session = &session,
                      .report = report,
                      .collector = collector.size != 0 ? collector.bytes : NULL };
    if (report == NULL || !make_debug_folder(&debugging))
        return COMMAND_FAILED;
    if (core == NULL && vscode) {
        (void)snprintf(name, sizeof(name), "crashhook-%.36s.core",
                       report_string(report, "id"));
        core = name;
    }
    if (core != NULL)
        return write_lasting_core(&debugging, core, vscode);
    if (!prepare_debugging(&debugging))
        return COMMAND_FAILED;
    return run_debugger(&debugging, options, named ? 1 : 0);
}

static const struct option debug_options[] = {
    { "core", "FILE", "write a core for any debugger (- is stdout), and start none",
      0 },
    { "vscode", NULL, "write a core, and .vscode/launch.json to debug it", 0 },
    { "spool", "DIR", "where to look an id up", 0 },
    { "token-file", "FILE", "file with the token of the URL's collector", 0 },
    { 0 },
};

const struct command debug_command = {
    .name = "debug",
    .arguments = "[REPORT|ID|URL] [-- GDB-ARGUMENT...]",
    .summary = "Open a report in gdb: registers, stacks, debug files and sources",
    .options = debug_options,
    .run = run_debug,
    .arguments_max = SIZE_MAX,
};
