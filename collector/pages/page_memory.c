// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/page_sections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "report/value/around.h"
#include "report/value/report.h"

enum { RUNS_SHOWN = 64, RUN_BYTES = 512, ROW_BYTES = 16, WATCHES_SHOWN = 100 };

enum { AROUND_BYTES = 16384 };

static void write_memory_row(struct text *out, uint64_t address,
                             const unsigned char *bytes, size_t size)
{
    char shown[ROW_BYTES + 1];
    char place[24];
    snprintf(place, sizeof(place), "%012" PRIx64, address);
    html_write(out, "%s ", place);
    for (size_t i = 0; i < ROW_BYTES; i++) {
        char digits[3] = "  ";
        if (i < size)
            hex_encode(&bytes[i], 1, digits);
        html_write(out, "%s%s", i % 8 == 0 ? " " : "", digits);
        html_write(out, " ");
        shown[i] =
            i < size && bytes[i] >= ' ' && bytes[i] <= '~' ? (char)bytes[i] : '.';
    }
    html_write(out, " %.*s\n", (int)size, shown);
}

static void write_memory_run(struct text *out, const json_t *run)
{
    unsigned char bytes[RUN_BYTES];
    const char *digits = report_string(run, "bytes");
    const char *name = report_string(run, "register");
    uint64_t address = 0;
    size_t size = 0;
    size_t length = digits != NULL ? strlen(digits) & ~(size_t)1 : 0;
    size_t taken = length < 2 * RUN_BYTES ? length : 2 * RUN_BYTES;
    if (!report_address(run, "address", &address) || taken == 0 ||
        hex_decode(digits, taken, bytes, sizeof(bytes), &size) != CH_OK)
        return;
    html_write(out,
               "<h3>%.*s <small>%.*s</small></h3><div class=\"scroll\" tabindex=\"0\">"
               "<pre class=\"dump\">",
               24, name != NULL ? name : "Memory", 20, report_string(run, "address"));
    for (size_t at = 0; at < size; at += ROW_BYTES)
        write_memory_row(out, address + at, bytes + at,
                         size - at < ROW_BYTES ? size - at : ROW_BYTES);
    html_write(out, "</pre></div>");
    if (taken < length)
        html_write(out, "<p class=\"cut\">%zu bytes more are in the JSON.</p>",
                   (length - taken) / 2);
}

static void write_around_lines(struct text *out, const char *title,
                               const struct text *lines)
{
    if (lines->size == 0 || !text_ok(lines))
        return;
    html_write(out,
               "<h3>%.*s</h3><div class=\"scroll\" tabindex=\"0\">"
               "<pre class=\"dump\">%.*s</pre></div>\n",
               PAGE_SHORT, title, AROUND_BYTES, lines->bytes);
}

// write_code_section writes the code around the crash, and what registers point to.
static void write_code_section(struct text *out, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *listings = json_object_get(crash, "disassembly");
    struct text CH_CLEANUP(text_deinit) pointers = { 0 };
    around_pointers_append(report, &pointers);
    if (json_array_size(listings) == 0 && pointers.size == 0)
        return;
    html_write(out, "<section class=\"card\" id=\"code\"><details><summary><h2>Code and"
                    " registers <small>around the crash</small></h2></summary>\n");
    for (size_t i = 0; i < json_array_size(listings); i++) {
        const json_t *listing = json_array_get(listings, i);
        const char *function = report_string(listing, "function");
        struct text CH_CLEANUP(text_deinit) lines = { 0 };
        around_code_append(report, listing, AROUND_ALL, false, &lines);
        write_around_lines(out, function != NULL ? function : "Code", &lines);
    }
    write_around_lines(out, "Registers point to", &pointers);
    html_write(out, "</details></section>\n");
}

// write_process_section writes what the process had around it.
static void write_process_section(struct text *out, const json_t *report)
{
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    around_process_append(report, &lines);
    if (lines.size == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"process\"><details><summary><h2>Process"
               " <small>limits, signals, environment, descriptors</small></h2>"
               "</summary>\n");
    write_around_lines(out, "When it crashed", &lines);
    html_write(out, "</details></section>\n");
}

void page_memory_write(struct text *out, const json_t *report)
{
    write_code_section(out, report);
    write_process_section(out, report);

    const json_t *runs = json_object_get(report, "memory");
    size_t count = json_array_size(runs);
    if (count == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"memory\"><details><summary><h2>Memory"
               " <small>%zu places that registers point at</small></h2></summary>\n",
               count);
    for (size_t i = 0; i < count && i < RUNS_SHOWN && !page_is_full(out); i++)
        write_memory_run(out, json_array_get(runs, i));
    html_write(out, "</details></section>\n");
}

static void write_watch_table(struct text *out, const json_t *watch)
{
    const json_t *value = json_object_get(watch, "value");
    char *dumped =
        value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_INDENT(2));
    html_write(out, "<div><dt>%.*s <i>%.*s</i></dt><dd>", PAGE_SHORT,
               report_string(watch, "name"), PAGE_SHORT, report_string(watch, "type"));
    if (json_is_string(value))
        html_write(out, "<pre>%.*s</pre>", PAGE_NAME, json_string_value(value));
    else
        html_write(out, "<pre>%.*s</pre>", PAGE_NAME,
                   dumped != NULL ? dumped : "It could not be read.");
    html_write(out, "<small>%lld bytes at %.*s</small></dd></div>\n",
               (long long)report_integer(watch, "size", 0), 20,
               report_string(watch, "address"));
    free(dumped);
}

void page_watches_write(struct text *out, const json_t *report)
{
    const json_t *watches = json_object_get(report, "watches");
    size_t count = json_array_size(watches);
    if (count == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"watches\"><h2>Watched values"
               " <small>%zu</small></h2><dl class=\"watches\">\n",
               count);
    for (size_t i = 0; i < count && i < WATCHES_SHOWN && !page_is_full(out); i++)
        write_watch_table(out, json_array_get(watches, i));
    html_write(out, "</dl></section>\n");
}
