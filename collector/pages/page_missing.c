// SPDX-License-Identifier: Apache-2.0
//
// Which debug files would name the nameless frames of a report, and how to upload them.
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "report/value/report.h"

enum { IMAGES_COUNTED = 64, THREADS_LOOKED_AT = 200 };

struct missing {
    const json_t *image;
    const char *why; // the symbol_status of its first nameless frame
    size_t frames;
};

struct missing_images {
    struct missing images[IMAGES_COUNTED];
    size_t count;
};

// reasons is what each symbol_status means, in the words of docs/reference/frames.md.
static const struct {
    const char *status;
    const char *sentence;
} reasons[] = {
    { "no-image-file", "its file was not there when names were looked up" },
    { "mismatched-build-id", "the files found there were of another build" },
    { "stripped", "it is stripped, and there was no debug file" },
    { "no-debug-file", "the debug file it names was not installed" },
    { "not-covered", "its debug information has nothing for this code" },
    { "no-split-file", "a .dwo file of its build was missing" },
    { "split-package", "its names are in a .dwp package, which is not read" },
    { "unknown-compression",
      "its debug information is compressed by a method that is not supported" },
    { "damaged-file", "its file could not be read" },
};

static const char *reason_of_missing(const char *status)
{
    for (size_t i = 0; status != NULL && i < sizeof(reasons) / sizeof(reasons[0]);
         i++) {
        if (strcmp(reasons[i].status, status) == 0)
            return reasons[i].sentence;
    }
    return "it had no names when the report was made";
}

static void count_frame(struct missing_images *missing, const json_t *report,
                        const json_t *frame)
{
    const json_t *image = report_image(report, frame);
    if (image == NULL || !report_frame_is_code(frame) ||
        report_string(frame, "function") != NULL ||
        report_string(image, "build_id") == NULL)
        return;
    size_t i = 0;
    while (i < missing->count && missing->images[i].image != image)
        i++;
    if (i == IMAGES_COUNTED)
        return;
    if (i == missing->count)
        missing->images[missing->count++] =
            (struct missing){ .image = image,
                              .why = report_string(frame, "symbol_status") };
    missing->images[i].frames++;
}

static void count_thread(struct missing_images *missing, const json_t *report,
                         const json_t *thread)
{
    size_t i;
    json_t *frame;
    json_array_foreach(report_frames(thread), i, frame)
    {
        count_frame(missing, report, frame);
    }
}

void page_missing_write(struct text *out, const json_t *report, const char *address)
{
    const json_t *threads = json_object_get(report, "threads");
    struct missing_images missing = { .count = 0 };
    for (size_t i = 0; i < json_array_size(threads) && i < THREADS_LOOKED_AT; i++)
        count_thread(&missing, report, json_array_get(threads, i));
    if (missing.count == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"missing\"><h2>Names are missing <small>%zu"
               " %s</small></h2><ul class=\"problems\">\n",
               missing.count, missing.count == 1 ? "image" : "images");
    for (size_t i = 0; i < missing.count; i++) {
        const struct missing *image = &missing.images[i];
        html_write(out, "<li><b>%.*s</b> %zu %s: %s. Build ID <code>%.*s</code></li>\n",
                   PAGE_SHORT, report_string(image->image, "name"), image->frames,
                   image->frames == 1 ? "frame" : "frames",
                   reason_of_missing(image->why), 128,
                   report_string(image->image, "build_id"));
    }
    html_write(out,
               "</ul><p class=\"cut\">Send the program with its debug information, or"
               " the debug file of that build ID, and look again (with --sources,"
               " lines of code come too):</p>"
               "<pre class=\"command\">crashhook symbols upload --url %.*s FILE</pre>"
               "</section>\n",
               PAGE_SHORT, address);
}
