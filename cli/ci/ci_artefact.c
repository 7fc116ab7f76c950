// SPDX-License-Identifier: Apache-2.0
#include "cli/ci/ci_artefact.h"

#include <errno.h>
#include <string.h>

#include "cli/session/artefact.h"
#include "formats/interchange/source_bundle.h"
#include "report/grouping/report_in_app.h"
#include "report/value/frame_source.h"
#include "report/value/report.h"

void ci_artefact_init(struct ci_artefact *artefact)
{
    *artefact = (struct ci_artefact){ .contents = tmpfile(), .paths = json_object() };
    artefact->failed = artefact->contents == NULL || artefact->paths == NULL;
    source_bundle_write_begin(&artefact->index);
}

void ci_artefact_deinit(struct ci_artefact *artefact)
{
    if (artefact->contents != NULL)
        (void)fclose(artefact->contents);
    text_deinit(&artefact->index);
    json_decref(artefact->paths);
}

// copy_part copies what one line of the index may stand for at most, and returns how
// much that was.
static size_t copy_part(struct ci_artefact *artefact, FILE *from)
{
    char bytes[1 << 14];
    size_t done = 0;
    size_t size;
    while (done + sizeof(bytes) <= SOURCE_BUNDLE_FILE_BYTES &&
           (size = fread(bytes, 1, sizeof(bytes), from)) != 0) {
        if (fwrite(bytes, 1, size, artefact->contents) != size)
            artefact->failed = true;
        done += size;
    }
    if (ferror(from))
        artefact->failed = true;
    return done;
}

// index_has_room returns true if the index may have one more line for path.
static bool index_has_room(const struct ci_artefact *artefact, const char *path)
{
    enum { LINE_MORE = 16 }; // the size, the space, and both ends
    return artefact->lines < SOURCE_BUNDLE_FILES &&
           artefact->index.size + strlen(path) + LINE_MORE < SOURCE_BUNDLE_INDEX_BYTES;
}

// add_to_artefact adds a file, a large one as several parts, unless its path is there,
// and closes it. NULL: there is none.
static void add_to_artefact(struct ci_artefact *artefact, const char *path, FILE *file)
{
    size_t size = 0;
    bool fits = strlen(path) <= SOURCE_BUNDLE_PATH_BYTES && strchr(path, '\n') == NULL;
    if (file == NULL)
        return;
    if (json_object_set_new(artefact->paths, path, json_true()) != 0)
        fits = false; // it is not UTF-8
    do {
        fits = fits && index_has_room(artefact, path);
        size = fits ? copy_part(artefact, file) : 0;
        if (size != 0 &&
            source_bundle_write_file(&artefact->index, path, size) != CH_OK)
            artefact->failed = true;
        artefact->lines += size != 0;
    } while (size != 0 && !artefact->failed);
    if (!fits)
        artefact->left_out++;
    (void)fclose(file);
}

static bool artefact_lacks(const struct ci_artefact *artefact, const char *path)
{
    return path != NULL && json_object_get(artefact->paths, path) == NULL;
}

// add_frame adds the source and the program of a frame.
static void add_frame(struct ci_artefact *artefact, const json_t *report,
                      const json_t *frame)
{
    const char *source = report_string(frame, "file");
    const char *program = report_string(report_image(report, frame), "path");
    if (artefact_lacks(artefact, source))
        add_to_artefact(artefact, source, frame_source_open(report, frame));
    if (artefact_lacks(artefact, program))
        add_to_artefact(artefact, program, frame_image_open(report, frame));
}

void ci_artefact_add(struct ci_artefact *artefact, const json_t *report)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char name[sizeof(ARTEFACT_REPORTS) + REPORT_ID_SIZE + sizeof(".json")];
    const char *id = report_string(report, "id");
    const json_t *thread;
    const json_t *frame;
    size_t t;
    size_t f;
    if (artefact->failed || id == NULL || !report_id_ok(id))
        return;
    if (report_print(report, &bytes) != CH_OK) {
        artefact->failed = true;
        return;
    }
    (void)snprintf(name, sizeof(name), ARTEFACT_REPORTS "%s.json", id);
    add_to_artefact(artefact, name, fmemopen(bytes.bytes, bytes.size, "r"));
    json_array_foreach(json_object_get(report, "threads"), t, thread)
    {
        json_array_foreach(report_frames(thread), f, frame)
        {
            if (report_frame_is_code(frame) && !report_frame_is_system(report, frame))
                add_frame(artefact, report, frame);
        }
    }
}

bool ci_artefact_write(struct ci_artefact *artefact, FILE *to)
{
    char bytes[1 << 14];
    size_t size;
    if (artefact->failed || fflush(artefact->contents) != 0)
        return false;
    rewind(artefact->contents);
    source_bundle_write_end(&artefact->index);
    if (!text_ok(&artefact->index) ||
        fwrite(artefact->index.bytes, 1, artefact->index.size, to) !=
            artefact->index.size)
        return false;
    while ((size = fread(bytes, 1, sizeof(bytes), artefact->contents)) != 0)
        if (fwrite(bytes, 1, size, to) != size)
            return false;
    return !ferror(artefact->contents);
}
