// SPDX-License-Identifier: Apache-2.0
#include "cli/ci/ci_forms.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "cli/render/markdown.h"
#include "report/grouping/title.h"
#include "report/summary/crash_kind.h"
#include "report/value/report.h"

// text_of is a member of a crash; empty: it has none.
static const char *text_of(const json_t *crash, const char *key)
{
    const char *text = report_string(crash, key);
    return text != NULL ? text : "";
}

// write_xml writes text with what XML reserves as references. Characters that XML 1.0
// does not have become '?'.
static void write_xml(const char *text, FILE *to)
{
    static const char *const references[] = {
        ['<'] = "&lt;",   ['>'] = "&gt;",   ['&'] = "&amp;",
        ['"'] = "&quot;", ['\n'] = "&#10;", ['\t'] = "&#9;"
    };
    uint32_t c = 0;
    for (size_t size; *text != 0; text += size) {
        size = utf8_decode(text, strlen(text), &c);
        if (c < sizeof(references) / sizeof(*references) && references[c] != NULL)
            (void)fputs(references[c], to);
        else if (c < ' ' || c == 0x7f || (c & 0xfffe) == 0xfffe)
            (void)fputc('?', to);
        else
            (void)fwrite(text, 1, size, to);
    }
}

// write_attribute writes name="text", with a space before it.
static void write_attribute(const char *name, const char *text, FILE *to)
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
    const size_t count = json_array_size(all->crashes);
    const json_t *crash;
    size_t i;
    ci_write_time(all, time);
    (void)fprintf(to,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                  "<testsuite name=\"crashhook\" tests=\"%zu\" failures=\"0\" "
                  "errors=\"%zu\" time=\"%" PRId64 ".%03" PRId64
                  "\" timestamp=\"%s\">\n",
                  count != 0 ? count : 1, count, all->duration_ms / 1000,
                  all->duration_ms % 1000, time);
    if (count == 0)
        (void)fputs("<testcase classname=\"crashhook\" name=\"no crash\"/>\n", to);
    json_array_foreach(all->crashes, i, crash)
    {
        (void)fputs("<testcase", to);
        write_attribute("classname", text_of(crash, "program"), to);
        write_attribute("name", text_of(crash, "title"), to);
        (void)fputs("><error", to);
        write_attribute("type", text_of(crash, "kind"), to);
        write_attribute("message", text_of(crash, "title"), to);
        (void)fputc('>', to);
        write_xml(text_of(crash, "shown"), to);
        (void)fputs("</error></testcase>\n", to);
    }
    (void)fputs("</testsuite>\n</testsuites>\n", to);
}

// sarif_uri is a path as a reference of a URI: bytes that it reserves are escaped.
static json_t *sarif_uri(const char *path)
{
    struct text CH_CLEANUP(text_deinit) uri = { 0 };
    text_append_string(&uri, path[0] == '/' ? "file://" : "");
    for (; *path != 0; path++) {
        const unsigned char c = (unsigned char)*path;
        const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || strchr("/._-+~", c) != NULL;
        text_appendf(&uri, safe ? "%c" : "%%%02X", c);
    }
    return json_stringn(uri.bytes, uri.size);
}

static json_t *sarif_location(const json_t *crash)
{
    const char *file = report_string(crash, "file");
    json_t *line = json_object_get(crash, "line");
    if (file == NULL)
        return json_array();
    // A region begins with its line, so an unknown line leaves it out.
    return json_pack("[{s:{s:{s:o}, s:o*}}]", "physicalLocation", "artifactLocation",
                     "uri", sarif_uri(file), "region",
                     line != NULL
                         ? json_pack("{s:O, s:O*}", "startLine", line, "startColumn",
                                     json_object_get(crash, "column"))
                         : NULL);
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
    const json_t *crash;
    size_t i;
    json_array_foreach(all->crashes, i, crash)
    {
        const char *kind = text_of(crash, "kind");
        if (json_object_get(seen, kind) == NULL)
            (void)json_array_append_new(rules, sarif_rule(kind));
        (void)json_object_set_new(seen, kind, json_true());
        (void)json_array_append_new(
            results,
            json_pack("{s:s, s:s, s:{s:O}, s:o, s:{s:O}, s:s*, s:O}", "ruleId", kind,
                      "level", "error", "message", "text",
                      json_object_get(crash, "title"), "locations",
                      sarif_location(crash), "partialFingerprints", "crashhook/v2",
                      json_object_get(crash, "fingerprint"), "baselineState",
                      !all->compared                ? NULL
                      : report_flag(crash, "known") ? "unchanged"
                                                    : "new",
                      "occurrenceCount", json_object_get(crash, "times")));
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
    const json_t *crash;
    size_t i;
    json_array_foreach(all->crashes, i, crash)
    {
        // GitLab takes no finding without a place.
        json_t *path = json_object_get(crash, "file");
        (void)json_array_append_new(
            list,
            json_pack("{s:O, s:O, s:O, s:s, s:{s:O, s:{s:I}}}", "description",
                      json_object_get(crash, "title"), "check_name",
                      json_object_get(crash, "kind"), "fingerprint",
                      json_object_get(crash, "fingerprint"), "severity", "blocker",
                      "location", "path",
                      path != NULL ? path : json_object_get(crash, "program"), "lines",
                      "begin", (json_int_t)report_integer(crash, "line", 1)));
    }
    (void)json_dumpf(list, to, JSON_INDENT(1));
}

void ci_write_summary(const struct ci_crashes *all, FILE *to)
{
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    const size_t count = json_array_size(all->crashes);
    const json_t *crash;
    size_t i;
    if (count == 0)
        text_append_string(&out, "No crashes.\n");
    else
        text_appendf(&out, "# %zu crash%s\n", count, count == 1 ? "" : "es");
    json_array_foreach(all->crashes, i, crash)
    {
        const int64_t times = report_integer(crash, "times", 1);
        text_append_string(&out, "\n");
        markdown_fence(&out, text_of(crash, "title"), strlen(text_of(crash, "title")));
        text_appendf(&out, "%" PRId64 " time%s%s, report %s\n\n<details>\n\n", times,
                     times == 1 ? "" : "s",
                     report_flag(crash, "known") ? ", known to the collector" : "",
                     text_of(crash, "id"));
        markdown_fence(&out, text_of(crash, "shown"), strlen(text_of(crash, "shown")));
        text_append_string(&out, "\n</details>\n");
    }
    (void)fwrite(out.bytes, 1, out.size, to);
}

// write_command_text writes text as a workflow command takes it: one line, with its own
// escapes, which reserve more in a property.
static void write_command_text(const char *text, bool property, FILE *to)
{
    for (; *text != 0; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            (void)fprintf(to, "%%%02X", c);
        else
            (void)fputc(c < ' ' ? '?' : c, to);
    }
}

void ci_write_commands(const struct ci_crashes *all, FILE *to)
{
    const json_t *crash;
    size_t i;
    json_array_foreach(all->crashes, i, crash)
    {
        (void)fputs("::error ", to);
        if (report_string(crash, "file") != NULL) {
            (void)fputs("file=", to);
            write_command_text(text_of(crash, "file"), true, to);
            if (json_object_get(crash, "line") != NULL)
                (void)fprintf(to, ",line=%" PRId64, report_integer(crash, "line", 0));
            (void)fputc(',', to);
        }
        (void)fputs("title=Crash::", to);
        write_command_text(text_of(crash, "title"), false, to);
        (void)fputc('\n', to);
    }
}
