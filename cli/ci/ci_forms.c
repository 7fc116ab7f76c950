// SPDX-License-Identifier: Apache-2.0
#include "cli/ci/ci_forms.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "cli/render/markdown.h"
#include "report/grouping/title.h"
#include "report/summary/crash_kind.h"

void ci_crash_deinit(struct ci_crash *crash)
{
    text_deinit(&crash->title);
    text_deinit(&crash->kind);
    text_deinit(&crash->program);
    text_deinit(&crash->file);
    text_deinit(&crash->shown);
}

static const char *string_of(const struct text *text)
{
    return text->bytes != NULL ? text->bytes : "";
}

// write_xml writes text with what XML reserves as references. Characters that XML 1.0
// does not have, and bytes that are not UTF-8, become '?'.
static void write_xml(const struct text *text, FILE *to)
{
    static const char *const references[] = {
        ['<'] = "&lt;",   ['>'] = "&gt;",   ['&'] = "&amp;",
        ['"'] = "&quot;", ['\n'] = "&#10;", ['\t'] = "&#9;"
    };
    uint32_t character = 0;
    for (size_t i = 0; i < text->size;) {
        size_t size = utf8_decode(text->bytes + i, text->size - i, &character);
        bool named = size == 1 &&
                     character < sizeof(references) / sizeof(*references) &&
                     references[character] != NULL;
        if (named)
            (void)fputs(references[character], to);
        else if (size == 0 || character < ' ' || character == 0x7f ||
                 (character & 0xfffe) == 0xfffe)
            (void)fputc('?', to);
        else
            (void)fwrite(text->bytes + i, 1, size, to);
        i += size != 0 ? size : 1;
    }
}

// write_attribute writes name="text", with a space before it.
static void write_attribute(const char *name, const struct text *text, FILE *to)
{
    (void)fprintf(to, " %s=\"", name);
    write_xml(text, to);
    (void)fputc('"', to);
}

void ci_write_time(const struct ci_crashes *all, char out[static CI_TIME_SIZE])
{
    struct tm parts;
    const time_t started = (time_t)all->started;
    out[0] = 0;
    if (gmtime_r(&started, &parts) != NULL)
        (void)strftime(out, CI_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
}

void ci_write_junit(const struct ci_crashes *all, FILE *to)
{
    char time[CI_TIME_SIZE];
    ci_write_time(all, time);
    (void)fprintf(to,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                  "<testsuite name=\"crashhook\" tests=\"%zu\" failures=\"0\" "
                  "errors=\"%zu\" time=\"%" PRId64 ".%03" PRId64
                  "\" timestamp=\"%s\">\n",
                  all->count != 0 ? all->count : 1, all->count, all->duration_ms / 1000,
                  all->duration_ms % 1000, time);
    if (all->count == 0)
        (void)fputs("<testcase classname=\"crashhook\" name=\"no crash\"/>\n", to);
    for (size_t i = 0; i < all->count; i++) {
        const struct ci_crash *crash = &all->crashes[i];
        (void)fputs("<testcase", to);
        write_attribute("classname", &crash->program, to);
        write_attribute("name", &crash->title, to);
        (void)fputs("><error", to);
        write_attribute("type", &crash->kind, to);
        write_attribute("message", &crash->title, to);
        (void)fputc('>', to);
        write_xml(&crash->shown, to);
        (void)fputs("</error></testcase>\n", to);
    }
    (void)fputs("</testsuite>\n</testsuites>\n", to);
}

// ci_string is text as JSON, which has to be UTF-8.
static json_t *ci_string(const struct text *text)
{
    struct text CH_CLEANUP(text_deinit) copy = { 0 };
    text_append(&copy, string_of(text), text->size);
    if (copy.size != 0)
        utf8_repair(copy.bytes, copy.size);
    return json_stringn(string_of(&copy), copy.size);
}

// sarif_uri is a path as a reference of a URI: bytes that it reserves are escaped.
static json_t *sarif_uri(const struct text *path)
{
    struct text CH_CLEANUP(text_deinit) uri = { 0 };
    text_append_string(&uri, path->size != 0 && path->bytes[0] == '/' ? "file://" : "");
    for (size_t i = 0; i < path->size; i++) {
        unsigned char c = (unsigned char)path->bytes[i];
        bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9') || strchr("/._-+~", c) != NULL;
        if (safe && c != 0)
            text_append(&uri, &c, 1);
        else
            text_appendf(&uri, "%%%02X", c);
    }
    return json_stringn(string_of(&uri), uri.size);
}

static json_t *sarif_location(const struct ci_crash *crash)
{
    if (crash->file.size == 0)
        return json_array();
    // A region begins with its line, so an unknown line leaves it out.
    json_t *region = crash->line > 0 ? json_object() : NULL;
    if (region != NULL)
        (void)json_object_set_new(region, "startLine", json_integer(crash->line));
    if (region != NULL && crash->column > 0)
        (void)json_object_set_new(region, "startColumn", json_integer(crash->column));
    return json_pack("[{s:{s:{s:o}, s:o*}}]", "physicalLocation", "artifactLocation",
                     "uri", sarif_uri(&crash->file), "region", region);
}

// sarif_rule describes a kind of crashes with what GitHub's code scanning requires.
static json_t *sarif_rule(const char *kind)
{
    const char *title = title_of_kind(crash_kind_of(kind));
    const char *words = title != NULL ? title : "cause not known";
    return json_pack("{s:s, s:{s:s}, s:{s:s+}, s:{s:s}}", "id", kind,
                     "shortDescription", "text", words, "fullDescription", "text",
                     "A program of the build crashed: ", words, "help", "text",
                     "The build's artifact has a report of each crash in its folder "
                     "reports. Read it with: crashhook show FILE");
}

void ci_write_sarif(const struct ci_crashes *all, FILE *to)
{
    json_t *results = json_array();
    json_t *rules = json_array();
    json_auto_t *seen = json_object();
    for (size_t i = 0; i < all->count; i++) {
        const struct ci_crash *crash = &all->crashes[i];
        const char *kind = string_of(&crash->kind);
        if (json_object_get(seen, kind) == NULL)
            (void)json_array_append_new(rules, sarif_rule(kind));
        (void)json_object_set_new(seen, kind, json_true());
        (void)json_array_append_new(
            results,
            json_pack("{s:s, s:s, s:{s:o}, s:o, s:{s:s}, s:s*, s:i}", "ruleId", kind,
                      "level", "error", "message", "text", ci_string(&crash->title),
                      "locations", sarif_location(crash), "partialFingerprints",
                      "crashhook/v2", crash->fingerprint, "baselineState",
                      !all->compared ? NULL
                      : crash->known ? "unchanged"
                                     : "new",
                      "occurrenceCount", (int)crash->times));
    }
    json_auto_t *sarif =
        json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:o}]}", "$schema",
                  "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0",
                  "runs", "tool", "driver", "name", "crashhook", "version",
                  CRASHHOOK_VERSION, "rules", rules, "results", results);
    (void)json_dumpf(sarif, to, JSON_INDENT(1));
}

void ci_write_gitlab(const struct ci_crashes *all, FILE *to)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < all->count; i++) {
        const struct ci_crash *crash = &all->crashes[i];
        // GitLab takes no finding without a place.
        const struct text *path =
            crash->file.size != 0 ? &crash->file : &crash->program;
        (void)json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:s, s:s, s:{s:o, s:{s:I}}}", "description",
                      ci_string(&crash->title), "check_name", ci_string(&crash->kind),
                      "fingerprint", crash->fingerprint, "severity", "blocker",
                      "location", "path", ci_string(path), "lines", "begin",
                      (json_int_t)(crash->line > 0 ? crash->line : 1)));
    }
    (void)json_dumpf(list, to, JSON_INDENT(1));
}

void ci_write_summary(const struct ci_crashes *all, FILE *to)
{
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    if (all->count == 0)
        text_append_string(&out, "No crashes.\n");
    else
        text_appendf(&out, "# %zu crash%s\n", all->count, all->count == 1 ? "" : "es");
    for (size_t i = 0; i < all->count; i++) {
        const struct ci_crash *crash = &all->crashes[i];
        text_append_string(&out, "\n");
        markdown_fence(&out, string_of(&crash->title), crash->title.size);
        text_appendf(&out, "%zu time%s%s, report %s\n\n<details>\n\n", crash->times,
                     crash->times == 1 ? "" : "s",
                     crash->known ? ", known to the collector" : "", crash->id);
        markdown_fence(&out, string_of(&crash->shown), crash->shown.size);
        text_append_string(&out, "\n</details>\n");
    }
    (void)fwrite(string_of(&out), 1, out.size, to);
}

// write_command_text writes text as a workflow command takes it: one line, with its own
// escapes, which reserve more in a property.
static void write_command_text(const struct text *text, bool property, FILE *to)
{
    for (size_t i = 0; i < text->size; i++) {
        unsigned char c = (unsigned char)text->bytes[i];
        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            (void)fprintf(to, "%%%02X", c);
        else
            (void)fputc(c < ' ' ? '?' : c, to);
    }
}

void ci_write_commands(const struct ci_crashes *all, FILE *to)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct ci_crash *crash = &all->crashes[i];
        (void)fputs("::error ", to);
        if (crash->file.size != 0) {
            (void)fputs("file=", to);
            write_command_text(&crash->file, true, to);
            if (crash->line > 0)
                (void)fprintf(to, ",line=%" PRId64, crash->line);
            (void)fputc(',', to);
        }
        (void)fputs("title=Crash::", to);
        write_command_text(&crash->title, false, to);
        (void)fputc('\n', to);
    }
}
