// SPDX-License-Identifier: Apache-2.0
//
// Runs a build's tests and collects the crashes of every program below them: the
// command runs under `crashhook run` with a spool of its own, OUTPUT/reports. When it
// has ended, its reports are grouped and written to OUTPUT in the forms that build
// servers read: JUnit's XML (as Jenkins' schema has it), SARIF 2.1.0, GitLab's code
// quality report, Markdown, and GitHub's workflow commands. Text of the crashes is
// escaped as each form demands.
// With --artifact the reports, their sources and their programs are also in one file,
// from which `crashhook show` shows a report anywhere. The command's
// exit status is kept.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/render/markdown.h"
#include "cli/render/pen.h"
#include "cli/render/render.h"
#include "cli/render/render_frames.h"
#include "cli/session/artefact.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/crash_records.h"
#include "cli/session/session_spool.h"
#include "formats/interchange/source_bundle.h"
#include "report/grouping/group_key.h"
#include "report/grouping/report_in_app.h"
#include "report/grouping/title.h"
#include "report/summary/crash_kind.h"
#include "report/value/frame_source.h"
#include "report/value/report.h"

// A ci_crashes is the crashes of a build. Each is an object with the strings id,
// fingerprint, title, kind, program (its file's name), shown (the report as a terminal
// shows it) and, if the place is known, file (relative to the folder of the build if it
// is below that); the numbers times (reports of this group) and, if they are known,
// line and column; known is true if the collector has the group.
struct ci_crashes {
    json_t *crashes;
    const char *command; // that was run
    int64_t duration_ms;
    int64_t started; // seconds since 1970
    bool compared;   // with the groups of a collector
};

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

// ci_write_time writes when the command was started, in UTC: 2026-11-27T03:14:00.
enum { CI_TIME_SIZE = 32 };
static void ci_write_time(const struct ci_crashes *all, char out[static CI_TIME_SIZE])
{
    struct tm parts;
    const time_t started = (time_t)all->started;
    out[0] = 0;
    if (gmtime_r(&started, &parts) != NULL)
        (void)strftime(out, CI_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
}

static void ci_write_junit(const struct ci_crashes *all, FILE *to)
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

static void ci_write_sarif(const struct ci_crashes *all, FILE *to)
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

static void ci_write_gitlab(const struct ci_crashes *all, FILE *to)
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

static void ci_write_summary(const struct ci_crashes *all, FILE *to)
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

static void ci_write_commands(const struct ci_crashes *all, FILE *to)
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

// A ci_artefact is the artefact of a build (cli/session/artefact.h) while it is made:
// the reports, and of the frames that are the program's own the sources and the
// programs.
struct ci_artefact {
    FILE *contents; // NULL: no artefact is wanted
    struct text index;
    size_t lines;    // of the index
    json_t *paths;   // of the files in it
    size_t left_out; // files that do not fit
    bool failed;     // errno says why
};

static void ci_artefact_init(struct ci_artefact *artefact)
{
    *artefact = (struct ci_artefact){ .contents = tmpfile(), .paths = json_object() };
    artefact->failed = artefact->contents == NULL || artefact->paths == NULL;
    source_bundle_write_begin(&artefact->index);
}

static void ci_artefact_deinit(struct ci_artefact *artefact)
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

// ci_artefact_add adds a report and what belongs to it.
static void ci_artefact_add(struct ci_artefact *artefact, const json_t *report)
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

// ci_artefact_write writes it. False: errno says why.
static bool ci_artefact_write(struct ci_artefact *artefact, FILE *to)
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

// CRASHES_MAX limits what is written; a build with more crashes has one bug.
enum { CRASHES_MAX = 500, SHOWN_MAX = 32 << 10 };

// run_below runs the command under `crashhook run` and returns the status of waitpid;
// negative: it could not be started.
static int run_below(const struct options *options, const char *spool)
{
    int status = -1;
    size_t count = 0;
    const char *words[] = { "crashhook", "run", "--spool", spool, "--" };
    const size_t fixed = sizeof(words) / sizeof(words[0]);
    const char **all = calloc(fixed + options->argument_count + 1, sizeof(*all));
    if (all == NULL)
        return -1;
    for (size_t i = 0; i < fixed; i++)
        all[count++] = words[i];
    for (size_t i = 0; i < options->argument_count; i++)
        all[count++] = options->arguments[i];
    pid_t pid = fork();
    if (pid == 0) {
        (void)execv("/proc/self/exe", (char *const *)(uintptr_t)all);
        _exit(127);
    }
    // Signals from the terminal reach the command too; what it makes of them counts.
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct sigaction before[2];
    (void)sigaction(SIGINT, &ignore, &before[0]);
    (void)sigaction(SIGQUIT, &ignore, &before[1]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    (void)sigaction(SIGINT, &before[0], NULL);
    (void)sigaction(SIGQUIT, &before[1], NULL);
    free((void *)all);
    return status;
}

// set_ci_text sets a member, which has to be UTF-8: a path may be of other bytes, and
// text may have been cut.
static void set_ci_text(json_t *out, const char *key, const char *text)
{
    struct text CH_CLEANUP(text_deinit) copy = { 0 };
    text_append_string(&copy, text != NULL ? text : "");
    if (text_ok(&copy))
        utf8_repair(copy.bytes, copy.size);
    (void)json_object_set_new(out, key, json_string(copy.bytes));
}

// read_place reads where the crash happened, with a path relative to the current folder
// for a file below it. Build servers compare paths with those of the repository, and
// compilers record build/../src/main.c, so the file's real path counts where it exists.
static void read_place(const json_t *report, json_t *out)
{
    char folder[PATH_MAX];
    char real[PATH_MAX];
    const json_t *frame = render_frames_place(report, report_crashed_thread(report));
    const char *file = report_string(frame, "file"); // NULL: no frame, or no file
    if (file == NULL)
        return;
    if (realpath(file, real) != NULL)
        file = real;
    size_t length = getcwd(folder, sizeof(folder)) != NULL ? strlen(folder) : 0;
    bool below =
        length > 1 && strncmp(file, folder, length) == 0 && file[length] == '/';
    set_ci_text(out, "file", below ? file + length + 1 : file);
    if (report_integer(frame, "line", 0) > 0)
        (void)json_object_set(out, "line", json_object_get(frame, "line"));
    if (report_integer(frame, "column", 0) > 0)
        (void)json_object_set(out, "column", json_object_get(frame, "column"));
}

// read_crash makes a crash of a report; NULL: nothing crashed in it.
static json_t *read_crash(json_t *report)
{
    static const struct render_style style = { .preset = PRESET_MEDIUM };
    struct group_key CH_CLEANUP(group_key_deinit) key = { 0 };
    struct text CH_CLEANUP(text_deinit) title = { 0 };
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    struct text CH_CLEANUP(text_deinit) shown = { 0 };
    const char *kind = report_string(json_object_get(report, "crash"), "kind");
    const char *program =
        report_string(json_object_get(report, "process"), "executable");
    report_in_app_mark(report);
    if (!group_key_make(report, &key))
        return NULL;
    json_t *out = json_pack("{s:i}", "times", 1);
    title_write(report, &key, &title);
    (void)render_report_text(report, &style, SHOWN_MAX, &shown);
    set_ci_text(out, "id", report_string(report, "id"));
    set_ci_text(out, "fingerprint", key.fingerprint);
    pen_escape(title.bytes != NULL ? title.bytes : "", &line);
    set_ci_text(out, "title", line.bytes);
    set_ci_text(out, "kind", kind != NULL ? kind : "unknown");
    set_ci_text(out, "program", program != NULL ? file_name(program) : "unknown");
    set_ci_text(out, "shown", shown.bytes);
    read_place(report, out);
    return out;
}

// count_ci_crash adds a crash, or counts it where its group is there.
static void count_ci_crash(struct ci_crashes *all, json_t *crash)
{
    const char *fingerprint = report_string(crash, "fingerprint");
    json_t *other;
    size_t i;
    json_array_foreach(all->crashes, i, other)
    {
        if (strcmp(report_string(other, "fingerprint"), fingerprint) != 0)
            continue;
        (void)json_object_set_new(other, "times",
                                  json_integer(report_integer(other, "times", 0) + 1));
        json_decref(crash);
        return;
    }
    if (i < CRASHES_MAX)
        (void)json_array_append_new(all->crashes, crash);
    else
        json_decref(crash);
}

// read_crashes reads the spool, adding names where they are missing.
static enum command_result read_crashes(struct session *session, struct ci_crashes *all,
                                        struct ci_artefact *artefact)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    if (session_spool_open(session, SPOOL_CREATE) != CH_OK)
        return COMMAND_FAILED;
    crash_records_take(session);
    enum ch_status status = spool_list(&session->spool, &listing);
    if (status != CH_OK)
        return command_fail("cannot list '%s': %s", session->spool_path,
                            spool_why(status));
    for (size_t i = 0; i < listing.count; i++) {
        json_auto_t *report = NULL;
        if (session_spool_report(session, listing.entries[i].id, &report) != CH_OK)
            continue; // it said why
        if (report_integer(report, "revision", 0) == 0)
            session_symbolize(session, report);
        if (artefact->contents != NULL)
            ci_artefact_add(artefact, report);
        json_t *crash = read_crash(report);
        if (crash != NULL)
            count_ci_crash(all, crash);
    }
    return COMMAND_DONE;
}

// is_known_group returns true if the collector had the group before the build began: it
// may have the build's own reports by now.
static bool is_known_group(const struct session *session, const char *base,
                           const char *fingerprint, const char *started)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    text_appendf(&path, "/api/v1/groups/%s", fingerprint);
    if (collector_find(session, base, path.bytes, &body) != CH_OK)
        return false;
    json_auto_t *group =
        json_loadb(body.bytes != NULL ? body.bytes : "", body.size, 0, NULL);
    const char *first = report_string(group, "first_seen");
    return first != NULL && strcmp(first, started) < 0;
}

// mark_known asks the collector, if one is configured, which groups it had.
static void mark_known(const struct session *session, struct ci_crashes *all)
{
    struct text CH_CLEANUP(text_deinit) base = { 0 };
    char started[CI_TIME_SIZE];
    json_t *crash;
    size_t i;
    if (session->settings.url == NULL || session->settings.url[0] == 0 ||
        collector_base(session, NULL, &base) != CH_OK)
        return;
    ci_write_time(all, started);
    all->compared = true;
    json_array_foreach(all->crashes, i, crash)
    {
        bool known = is_known_group(session, base.bytes,
                                    report_string(crash, "fingerprint"), started);
        (void)json_object_set_new(crash, "known", json_boolean(known));
    }
}

// write_form writes one form to a file of the output folder; a name that an option gave
// is relative to the current one, with folder NULL.
static bool write_form(const struct ci_crashes *all, const char *folder,
                       const char *name,
                       void (*form)(const struct ci_crashes *, FILE *))
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s%s%s", folder != NULL ? folder : "",
                        folder != NULL ? "/" : "", name);
    FILE *file = size > 0 && size < PATH_MAX ? command_create(path) : NULL;
    if (file != NULL)
        form(all, file);
    if (file == NULL || !command_close(file)) {
        (void)command_fail("cannot write '%.*s': %s", size < 0 ? 0 : size, path,
                           strerror(errno));
        return false;
    }
    return true;
}

// write_forms writes all forms; what GitHub's runner takes goes where that says.
static bool write_forms(const struct ci_crashes *all, const struct options *options,
                        const char *folder)
{
    const char *junit_file = options_value(options, "junit");
    const char *sarif_file = options_value(options, "sarif");
    const char *annotations = options_value(options, "annotations");
    const char *summary = getenv("GITHUB_STEP_SUMMARY");
    const char *github = getenv("GITHUB_ACTIONS");
    FILE *step = summary != NULL ? fopen(summary, "ae") : NULL;
    if (step != NULL) {
        ci_write_summary(all, step);
        (void)fclose(step);
    }
    if (annotations == NULL && github != NULL && strcmp(github, "true") == 0)
        annotations = "github";
    if (annotations != NULL)
        (strcmp(annotations, "github") == 0 ? ci_write_commands
                                            : ci_write_gitlab)(all, stdout);
    bool junit =
        write_form(all, junit_file != NULL ? NULL : folder,
                   junit_file != NULL ? junit_file : "junit.xml", ci_write_junit);
    bool sarif =
        write_form(all, sarif_file != NULL ? NULL : folder,
                   sarif_file != NULL ? sarif_file : "crashes.sarif", ci_write_sarif);
    bool gitlab =
        write_form(all, folder, "gl-code-quality-report.json", ci_write_gitlab);
    bool text = write_form(all, folder, "summary.md", ci_write_summary);
    return junit && sarif && gitlab && text;
}

// write_artefact writes the artefact, if one is wanted.
static bool write_artefact(struct ci_artefact *artefact, const char *path)
{
    if (path == NULL)
        return true;
    FILE *file = command_create(path);
    bool done = file != NULL && ci_artefact_write(artefact, file);
    if (file != NULL && !command_close(file))
        done = false;
    if (!done)
        (void)command_fail("cannot write '%s': %s", path, strerror(errno));
    if (artefact->left_out != 0)
        (void)command_fail("left out of '%s': %zu files that do not fit", path,
                           artefact->left_out);
    return done;
}

// say_crashes prints one summary on stderr.
static void say_crashes(const struct ci_crashes *all, const char *folder)
{
    const size_t count = json_array_size(all->crashes);
    const json_t *crash;
    size_t i;
    if (count != 0)
        (void)fprintf(stderr, "crashhook: %zu crash%s below '%s', in %s:\n", count,
                      count == 1 ? "" : "es", all->command, folder);
    json_array_foreach(all->crashes, i, crash)
    {
        const int64_t times = report_integer(crash, "times", 1);
        (void)fprintf(stderr, "  %s%s", report_flag(crash, "known") ? "known  " : "",
                      report_string(crash, "title"));
        (void)fprintf(stderr, times > 1 ? " (%" PRId64 " times)\n" : "\n", times);
    }
}

// end_as_command ends as the command did: with its status, or by its signal.
static int end_as_command(int status)
{
    if (WIFSIGNALED(status)) {
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)fflush(NULL);
        (void)raise(WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

// make_spool makes the output folder with the spool in it, and writes the spool's
// absolute path. The command may change the folder that it runs in.
static bool make_spool(const char *folder, char out[static PATH_MAX])
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/reports", folder);
    errno = ENAMETOOLONG;
    if (size > 0 && size < PATH_MAX && (mkdir(folder, 0755) == 0 || errno == EEXIST) &&
        (mkdir(path, 0700) == 0 || errno == EEXIST) && realpath(path, out) != NULL)
        return true;
    (void)command_fail("cannot make '%s/reports': %s", folder, strerror(errno));
    return false;
}

static int run_ci(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct ci_artefact CH_CLEANUP(ci_artefact_deinit) artefact = { 0 };
    char spool[PATH_MAX];
    const char *folder = options_value(options, "output");
    json_auto_t *crashes = json_array();
    const json_t *crash;
    struct ci_crashes all = {
        .crashes = crashes,
        .command = options->arguments[0],
        .started = (int64_t)time(NULL),
    };
    const char *annotations = options_value(options, "annotations");
    if (annotations != NULL && strcmp(annotations, "github") != 0 &&
        strcmp(annotations, "gitlab") != 0)
        return command_misused("ci: --annotations '%s': github or gitlab", annotations);
    session_init(&session, options);
    session.settings.spool = spool;
    folder = folder != NULL ? folder : "crashhook-ci";
    if (!make_spool(folder, spool))
        return COMMAND_FAILED;
    int64_t start = clock_now_ms(CLOCK_MONOTONIC);
    int status = run_below(options, spool);
    if (status < 0)
        return command_fail("cannot run '%s': %s", all.command, strerror(errno));
    all.duration_ms = clock_now_ms(CLOCK_MONOTONIC) - start;
    if (options_given(options, "artifact"))
        ci_artefact_init(&artefact);
    bool done = read_crashes(&session, &all, &artefact) == COMMAND_DONE;
    mark_known(&session, &all);
    done = write_forms(&all, options, folder) && done;
    done = write_artefact(&artefact, options_value(options, "artifact")) && done;
    say_crashes(&all, folder);
    size_t fresh = 0;
    size_t i;
    json_array_foreach(crashes, i, crash) fresh += !report_flag(crash, "known");
    if (fresh != 0 && status == 0 && options_given(options, "gate"))
        return command_fail("%zu of the crashes %s new, so the build fails", fresh,
                            fresh == 1 ? "is" : "are");
    // A crash whose report is lost must not look like a build without one.
    return done || status != 0 ? end_as_command(status) : COMMAND_FAILED;
}

static const struct option ci_options[] = {
    { "output", "DIR", "where reports and summaries go (crashhook-ci)", 0 },
    { "junit", "FILE", "where JUnit's form goes (DIR/junit.xml)", 0 },
    { "sarif", "FILE", "where SARIF goes (DIR/crashes.sarif)", 0 },
    { "artifact", "FILE",
      "one file with reports, sources and programs, for crashhook show (none)", 0 },
    { "annotations", "FORM",
      "print annotations as github or gitlab takes them (github in its runner)", 0 },
    { "gate", NULL, "fail if a crash is not known to the collector", 0 },
    { "token-file", "FILE", "file with the token of the collector of CRASHHOOK_URL",
      0 },
    { 0 },
};

const struct command ci_command = {
    .name = "ci",
    .arguments = "-- COMMAND [ARGUMENT...]",
    .summary = "Run a build's tests and write the crashes below them for its server",
    .options = ci_options,
    .run = run_ci,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
    .in_order = true,
};
