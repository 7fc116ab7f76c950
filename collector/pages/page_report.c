// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/query/store_values.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "report/summary/crash_words.h"
#include "report/summary/readable_name.h"
#include "report/summary/report_waits.h"

enum {
    TAGS_SHOWN = 100,
    PROBLEMS_SHOWN = 100,
    CRUMBS_SHOWN = 100,
    ATTACHMENTS_SHOWN = 16,
    ATTACHED_TEXT = 16000,
    SCROLLED_ARGUMENTS = 8, // more of them scroll
    LIGHT_BYTES = 50000,    // what fits is shown at once
};

static void write_report_fact(struct text *out, const char *name, const char *value)
{
    if (value != NULL && value[0] != 0)
        html_write(out, "<div><dt>%s</dt><dd>%.*s</dd></div>", name, PAGE_NAME, value);
}

// write_linked_fact writes a fact as a link to the groups with it.
static void write_linked_fact(struct text *out, const char *name, const char *key,
                              const char *value)
{
    if (value == NULL || value[0] == 0)
        return;
    html_write(out, "<div><dt>%s</dt><dd>", name);
    page_write_link(out, "", key, value, value);
    html_write(out, "</dd></div>");
}

// write_path allows a line break after each slash of a path.
static void write_path(struct text *out, const char *name, const char *path)
{
    if (path == NULL || path[0] == 0)
        return;
    html_write(out, "<div><dt>%s</dt><dd>", name);
    page_begin_link(out, "", "program", page_base_name(path));
    for (size_t shown = 0; *path != 0 && shown < PAGE_NAME;) {
        size_t part = strcspn(path + 1, "/") + 1;
        char piece[256];
        snprintf(piece, sizeof(piece), "%.*s", part < 255 ? (int)part : 255, path);
        part = strlen(piece);
        html_write(out, "%s<wbr>", piece);
        path += part;
        shown += part;
    }
    html_write(out, "%s</a></dd></div>", *path != 0 ? "\u2026" : "");
}

// write_signal writes `SIGSEGV (11), SEGV_MAPERR`.
static void write_signal(struct text *out, const json_t *crash)
{
    const char *code = report_string(crash, "code_name");
    if (crash == NULL)
        return;
    html_write(out, "<div><dt>Signal</dt><dd>%.*s <i>%lld</i>", 24,
               report_string(crash, "name"),
               (long long)report_integer(crash, "signal", 0));
    if (code != NULL)
        html_write(out, " %.*s", 40, code);
    html_write(out, "</dd></div>");
}

static void write_time_fact(struct text *out, const json_t *report)
{
    int64_t at = 0;
    const char *time = report_string(report, "time");
    int64_t now_ms = timestamp_now();
    if (time == NULL)
        return;
    html_write(out, "<div><dt>Time</dt><dd>");
    if (timestamp_read(time, now_ms, &at) == CH_OK) {
        page_write_exact(out, at);
        html_write(out, " <i>");
        page_write_time(out, at, now_ms);
        html_write(out, "</i>");
    }
    html_write(out, "</dd></div>");
}

static void write_argument_list(struct text *out, const json_t *process)
{
    const json_t *arguments = json_object_get(process, "arguments");
    if (json_array_size(arguments) == 0)
        return;
    // What scrolls is reached by the keyboard.
    html_write(out, "<div class=\"wide-fact\"><dt>Command</dt><dd%s><code>",
               json_array_size(arguments) > SCROLLED_ARGUMENTS
                   ? " class=\"long\" tabindex=\"0\""
                   : "");
    for (size_t i = 0; i < json_array_size(arguments) && i < 64; i++)
        html_write(out, "%s%.*s", i == 0 ? "" : " ", PAGE_SHORT,
                   json_string_value(json_array_get(arguments, i)));
    html_write(out, "</code></dd></div>");
}

static void write_uptime(struct text *out, const json_t *process)
{
    long long s = report_integer(process, "uptime_ms", -1) / 1000;
    if (report_integer(process, "uptime_ms", -1) < 0)
        return;
    html_write(out, "<div><dt>Ran for</dt><dd>");
    if (s >= 86400)
        html_write(out, "%lld d %lld h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        html_write(out, "%lld h %lld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        html_write(out, "%lld min %lld s", s / 60, s % 60);
    else
        html_write(out, "%lld s", s);
    html_write(out, "</dd></div>");
}

static void write_report_facts(struct text *out, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *process = json_object_get(report, "process");
    const json_t *host = json_object_get(report, "host");
    html_write(out, "<dl class=\"facts\">");
    write_signal(out, crash);
    write_report_fact(out, "Address", report_string(crash, "address"));
    write_path(out, "Program", report_string(process, "executable"));
    write_linked_fact(out, "Release", "release", report_string(report, "release"));
    write_linked_fact(out, "Environment", "environment",
                      report_string(report, "environment"));
    write_linked_fact(out, "Host", "host", report_string(host, "hostname"));
    write_time_fact(out, report);
    write_uptime(out, process);
    write_report_fact(out, "System", report_string(host, "os"));
    write_linked_fact(out, "Kernel", "kernel", report_string(host, "kernel"));
    write_report_fact(out, "Architecture", report_string(host, "arch"));
    write_argument_list(out, process);
    html_write(out, "</dl>");
}

// write_spool reports how many crashes the sender counted and did not send.
static void write_spool(struct text *out, const json_t *report, const char *group)
{
    const json_t *spool = json_object_get(report, "spool");
    int64_t held_back = report_integer(spool, "held_back", 0);
    int64_t dropped = report_integer(spool, "dropped", 0);
    int64_t here =
        report_integer(json_object_get(spool, "held_back_by_fingerprint"), group, 0);
    if (held_back > 0) {
        html_write(out,
                   "<p class=\"cut\">Before this report the sender held back %'lld more"
                   " %s of this program, past its rate (CRASHHOOK_RATE)",
                   (long long)held_back, held_back == 1 ? "crash" : "crashes");
        if (here > 0 && here < held_back)
            html_write(out, "; %'lld of them in this group", (long long)here);
        html_write(out, ".</p>");
    }
    if (dropped > 0)
        html_write(out,
                   "<p class=\"cut\">The sender's spool was full: %'lld %s deleted"
                   " unsent.</p>",
                   (long long)dropped, dropped == 1 ? "report was" : "reports were");
}

static void write_report_link(struct text *out, const char *id, const char *relation,
                              const char *label)
{
    if (id[0] != 0)
        html_write(out, "<a rel=\"%s\" href=\"/reports/%s\">%s</a>", relation, id,
                   label);
}

// write_links writes where the report is in other forms, and how to look around in it.
static void write_links(struct text *out, const struct viewed_report *viewed,
                        const char *id, const char *address)
{
    const char *summary =
        report_string(json_object_get(viewed->opened.json, "crash"), "summary");
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    text_appendf(&url, "%s/reports/%s", address, id);
    html_write(out,
               "<p class=\"links\"><a href=\"/api/v1/reports/%s?form=text\""
               " accesskey=\"t\" download=\"%s.txt\" title=\"To paste elsewhere; access"
               " key t\">Text</a>"
               "<a href=\"/api/v1/reports/%s\" accesskey=\"j\" download=\"%s.json\""
               " title=\"Access key j\">JSON</a>"
               "<a href=\"/api/v1/reports/%s?form=sent\" download=\"%s.json\">JSON as"
               " sent</a>",
               id, id, id, id, id, id);
    write_report_link(out, viewed->around.before, "prev", "Previous report");
    write_report_link(out, viewed->around.after, "next", "Next report");
    page_link_issue(out, &viewed->templates, viewed->title,
                    summary != NULL ? summary : "", text_string(&url), viewed->group);
    html_write(
        out,
        "</p><details class=\"inner\"><summary>Debug here</summary><pre"
        " class=\"command\">crashhook debug %s</pre><p class=\"cut\">opens it in gdb"
        " with its registers, stacks, debug files and sources.</p></details>",
        text_string(&url));
}

// write_termination writes what is known of a process that was killed, or exited with a
// panic.
static void write_termination(struct text *out, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *termination = json_object_get(crash, "death");
    const char *kernel = report_string(termination, "kernel");
    const char *said = report_string(termination, "stderr");
    if (said == NULL)
        said = report_string(crash, "stderr");
    struct text CH_CLEANUP(text_deinit) memory = { 0 };
    if (memory_words_append(report, &memory) && text_ok(&memory))
        html_write(out, "<p>Memory: %s</p>", memory.bytes);
    if (kernel != NULL)
        html_write(out, "<p>Kernel: %s</p>", kernel);
    if (said != NULL)
        html_write(out,
                   "<details class=\"inner\"><summary>Standard error</summary>"
                   "<pre>%s</pre></details>",
                   said);
    const json_t *streams = json_object_get(crash, "unwritten");
    for (size_t i = 0; i < json_array_size(streams); i++) {
        const char *text = report_string(json_array_get(streams, i), "text");
        if (text != NULL)
            html_write(out,
                       "<details class=\"inner\"><summary>Logged, not yet written"
                       "</summary><pre>%s</pre></details>",
                       text);
    }
}

static void write_hero(struct text *out, const struct viewed_report *viewed,
                       const char *id, const char *address)
{
    const json_t *report = viewed->opened.json;
    const json_t *crash = json_object_get(report, "crash");
    const char *kind = report_string(crash, "kind");
    const char *summary = report_string(crash, "summary");
    const char *message = report_unsaid_message(crash);
    html_write(out, "<section class=\"hero\"><p class=\"kicker\">");
    if (kind != NULL)
        page_write_link(out, "kind", "kind", kind, kind);
    html_write(out, "<a href=\"/groups/%s\">%.*s</a></p>", viewed->group, PAGE_SHORT,
               viewed->title);
    page_write_summary(out, summary != NULL ? summary : viewed->title);
    if (message != NULL)
        html_write(out, "<pre class=\"message\" tabindex=\"0\">%s</pre>", message);
    struct text CH_CLEANUP(text_deinit) then = { 0 };
    report_then(crash, &then);
    if (then.size != 0)
        html_write(out, "<p>%s.</p>", then.bytes);
    write_termination(out, report);
    write_report_facts(out, report);
    write_links(out, viewed, id, address);
    if (viewed->names == STORE_NAMES_PENDING)
        html_write(out, "<p class=\"cut\">Names are pending: debug files of this report"
                        " are here and are being read. Load the page again.</p>");
    else if (viewed->names == STORE_NAMES_FAILED)
        html_write(out, "<p class=\"cut\">Names could not be read from the debug files"
                        " that were sent to this collector.</p>");
    if (viewed->renamed)
        html_write(out, "<p class=\"cut\">Some names come from debug files that were"
                        " sent to this collector.</p>");
    else if (viewed->names == STORE_NAMES_DONE &&
             report_integer(report, "revision", 1) == 0)
        html_write(out, "<p class=\"cut\">This report was sent before it had names."
                        " They appear when the sender adds them, or when debug files"
                        " are sent here.</p>");
    write_spool(out, report, viewed->group);
    html_write(out, "</section>\n");
}

// write_throw_section shows the stack that the exception was thrown with.
static void write_throw_section(struct text *out, const json_t *report)
{
    const json_t *exception =
        json_object_get(json_object_get(report, "crash"), "exception");
    if (json_array_size(report_frames(exception)) == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"thrown\"><h2>Thrown here <small>by thread"
               " %lld</small></h2>\n",
               (long long)report_integer(json_object_get(exception, "backtrace"),
                                         "thread", 0));
    page_frames_write(out, report, exception, NULL);
    html_write(out, "</section>\n");
}

// write_heap_section shows the stacks of the misused block.
static void write_heap_section(struct text *out, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *heap = json_object_get(crash, "heap");
    struct crash_heap facts;
    crash_words_heap(crash, &facts);
    const struct {
        const char *id;
        const char *title;
        const json_t *event;
        const struct crash_heap_event *facts;
    } parts[] = {
        { "freed", "Freed here", json_object_get(heap, "freed"), &facts.freed },
        { "allocated", "Allocated here", json_object_get(heap, "allocated"),
          &facts.allocated },
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct text CH_CLEANUP(text_deinit) words = { 0 };
        if (json_array_size(report_frames(parts[i].event)) == 0)
            continue;
        crash_heap_append_event(parts[i].facts, &words);
        html_write(out,
                   "<section class=\"card\" id=\"%s\"><h2>%s <small>%s</small></h2>\n",
                   parts[i].id, parts[i].title, text_string(&words));
        page_frames_write(out, report, parts[i].event, NULL);
        html_write(out, "</section>\n");
    }
}

// write_wait_list reports who waits for whom.
static void write_wait_list(struct text *out, const json_t *report)
{
    const json_t *waits = report_waits(report);
    size_t count = json_array_size(waits);
    if (count == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"waits\"><h2>Waiting <small>%zu</small>"
               "</h2><ul class=\"problems\">\n",
               count);
    for (size_t i = 0; i < count && i < PROBLEMS_SHOWN; i++) {
        struct text CH_CLEANUP(text_deinit) words = { 0 };
        const json_t *wait = json_array_get(waits, i);
        const char *name = report_string(report_wait_thread(report, wait), "name");
        report_wait_append(wait, &words);
        html_write(out, "<li><b>Thread %lld%s%.*s</b> %.*s</li>\n",
                   (long long)report_integer(wait, "tid", 0), name != NULL ? " " : "",
                   PAGE_SHORT, name, PAGE_SHORT, words.bytes);
    }
    html_write(out, "</ul>");
    page_write_cut(out, PROBLEMS_SHOWN, count, "");
    html_write(out, "</section>\n");
}

static void write_problem_list(struct text *out, const json_t *report)
{
    const json_t *problems = json_object_get(report, "problems");
    size_t count = json_array_size(problems);
    if (count == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"problems\"><h2>What could not be read"
               " <small>%zu</small></h2><ul class=\"problems\">\n",
               count);
    for (size_t i = 0; i < count && i < PROBLEMS_SHOWN; i++) {
        const json_t *problem = json_array_get(problems, i);
        html_write(out, "<li><b>%.*s</b> %.*s <code>%.*s</code> %.*s</li>\n", 60,
                   report_string(problem, "stage"), PAGE_SHORT,
                   report_string(problem, "status"), 24,
                   report_string(problem, "address"), PAGE_SHORT,
                   report_string(problem, "detail"));
    }
    html_write(out, "</ul>");
    page_write_cut(out, PROBLEMS_SHOWN, count, "");
    html_write(out, "</section>\n");
}

static void write_tag_list(struct text *out, const json_t *report)
{
    const json_t *tags = json_object_get(report, "tags");
    const char *key;
    json_t *value;
    size_t shown = 0;
    if (json_object_size(tags) == 0)
        return;
    html_write(out, "<section class=\"card\" id=\"tags\"><h2>Tags</h2>"
                    "<dl class=\"tags\">\n");
    json_object_foreach((json_t *)(uintptr_t)tags, key, value)
    {
        if (shown++ == TAGS_SHOWN)
            break;
        struct text CH_CLEANUP(text_deinit) term = { 0 };
        struct entry_tag tag; // as the store keeps it
        entry_copy(tag.key, sizeof(tag.key), key);
        entry_copy(tag.value, sizeof(tag.value), json_string_value(value));
        search_write_tag(tag.key, tag.value, &term);
        html_write(out, "<div><dt>%.*s</dt><dd>", 64, key);
        page_write_link(out, "", "tag", text_string(&term), json_string_value(value));
        html_write(out, "</dd></div>");
    }
    html_write(out, "</dl></section>\n");
}

// write_user_data writes what the program set with crashhook_set_data.
static void write_user_data(struct text *out, const json_t *report)
{
    const json_t *data = json_object_get(report, "user_data");
    const char *key;
    json_t *value;
    size_t shown = 0;
    if (json_object_size(data) == 0)
        return;
    html_write(out, "<section class=\"card\" id=\"data\"><h2>Data of the program</h2>"
                    "<dl class=\"watches\">\n");
    json_object_foreach((json_t *)(uintptr_t)data, key, value)
    {
        if (shown++ == TAGS_SHOWN)
            break;
        html_write(out, "<dt>%.*s</dt><dd><pre>%.*s</pre></dd>", 64, key,
                   HTML_STRING_LIMIT, json_string_value(value));
    }
    html_write(out, "</dl></section>\n");
}

// write_attachments writes the ends of files that the program wanted with its reports.
static void write_attachments(struct text *out, const json_t *report)
{
    size_t i;
    json_t *attachment;
    const json_t *attachments = json_object_get(report, "attachments");
    if (json_array_size(attachments) == 0)
        return;
    html_write(out, "<section class=\"card\" id=\"attachments\"><h2>Attachments</h2>");
    json_array_foreach(attachments, i, attachment)
    {
        const char *text = report_string(attachment, "text");
        const char *problem = report_string(attachment, "problem");
        if (i == ATTACHMENTS_SHOWN)
            break;
        html_write(out,
                   "<details class=\"inner\"><summary>%.*s <small>%'lld bytes</small>"
                   "</summary>",
                   PAGE_SHORT, report_string(attachment, "path"),
                   (long long)report_integer(attachment, "size", 0));
        if (text != NULL)
            html_write(out, "<pre class=\"command\">%.*s</pre>", ATTACHED_TEXT, text);
        else
            html_write(out, "<p class=\"cut\">%.*s</p>", PAGE_SHORT,
                       problem != NULL ? problem
                                       : "It is no text; the JSON has its bytes.");
        html_write(out, "</details>");
    }
    html_write(out, "</section>\n");
}

static void write_breadcrumb_list(struct text *out, const json_t *report)
{
    const json_t *crumbs = json_object_get(report, "breadcrumbs");
    size_t count = json_array_size(crumbs);
    if (count == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"breadcrumbs\"><h2>Before the crash</h2>"
               "<ol class=\"crumbs\">\n");
    for (size_t i = count > CRUMBS_SHOWN ? count - CRUMBS_SHOWN : 0; i < count; i++) {
        const json_t *crumb = json_array_get(crumbs, i);
        html_write(out, "<li><time>%.*s</time><span>%.*s</span></li>\n", 40,
                   report_string(crumb, "time"), PAGE_NAME,
                   report_string(crumb, "message"));
    }
    html_write(out, "</ol></section>\n");
}

static void write_agent_facts(struct text *out, const json_t *report)
{
    const json_t *agent = json_object_get(report, "agent");
    const json_t *timings = json_object_get(agent, "timings_us");
    const char *stage;
    json_t *us;
    size_t shown = 0;
    html_write(out, "<footer class=\"agent\"><p>crashhook %.*s, captured by %.*s", 40,
               report_string(agent, "version"), 24, report_string(agent, "tier"));
    json_object_foreach((json_t *)(uintptr_t)timings, stage, us)
    {
        if (shown++ == 12)
            break;
        html_write(out, "<span>%.*s %lld\u2009\u00b5s</span>", 24, stage,
                   (long long)json_integer_value(us));
    }
    html_write(out, "</p></footer>\n");
}

static void write_images(struct text *out, const struct viewed_report *viewed)
{
    page_images_write(out, viewed);
}

static void write_threads(struct text *out, const struct viewed_report *viewed)
{
    page_threads_write_others(out, viewed->opened.json);
}

static void write_record(struct text *out, const struct viewed_report *viewed)
{
    page_flight_write(out, viewed->opened.json);
}

static void write_watched(struct text *out, const struct viewed_report *viewed)
{
    page_watches_write(out, viewed->opened.json);
}

static void write_memory(struct text *out, const struct viewed_report *viewed)
{
    page_memory_write(out, viewed->opened.json);
}

static void write_notes(struct text *out, const struct viewed_report *viewed)
{
    const json_t *report = viewed->opened.json;
    write_breadcrumb_list(out, report);
    write_problem_list(out, report);
    write_tag_list(out, report);
    write_user_data(out, report);
    write_attachments(out, report);
}

// report_part is what follows the crashed thread. One that would make the page heavy is
// behind a link.
static const struct report_part {
    const char *id;
    const char *name;
    void (*write)(struct text *out, const struct viewed_report *viewed);
} parts[] = {
    { "watched", "Watched values", write_watched },
    { "record", "Flight record", write_record },
    { "others", "Other threads", write_threads },
    { "around", "Memory", write_memory },
    { "notes", "Notes", write_notes },
    { "loaded", "Images", write_images },
};

static void write_report_part(struct text *out, const struct viewed_report *viewed,
                              const char *id, const struct report_part *part)
{
    struct text CH_CLEANUP(text_deinit) written = { 0 };
    part->write(&written, viewed);
    if (id == NULL && written.size != 0)
        html_write(out, "<div id=\"%s\">", part->id);
    if (id == NULL || out->size + written.size <= LIGHT_BYTES) {
        text_append(out, written.bytes, written.size);
        html_write(out, id == NULL && written.size != 0 ? "</div>" : "");
        return;
    }
    html_write(out,
               "<section class=\"card\" id=\"%s\"><h2>%s</h2><p><a"
               " href=\"/reports/%s?all=yes#%s\">Show all of this report</a>, %zu KB"
               " more.</p></section>\n",
               part->id, part->name, id, part->id, (written.size >> 10) + 1);
}

void page_report_write(struct text *out, const struct viewed_report *viewed,
                       const char *id, const char *address, bool all)
{
    const json_t *report = viewed->opened.json;
    page_begin(out, viewed->title, "Report");
    write_hero(out, viewed, id, address);
    page_threads_write_crashed(out, viewed, address);
    write_throw_section(out, report);
    write_heap_section(out, report);
    write_wait_list(out, report);
    page_missing_write(out, report, address);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        write_report_part(out, viewed, all ? NULL : id, &parts[i]);
    write_agent_facts(out, report);
}

void page_report(struct http_request *request)
{
    struct viewed_report viewed;
    if (!viewed_report_open(request, request->id, &viewed))
        return;
    if (!collector_of(request)->reading && !api_audit(request, "view", request->id)) {
        viewed_report_close(&viewed);
        return;
    }
    char address[300];
    // A page without these links is better than no page.
    if (store_reports_around(collector_of(request)->store, request->id,
                             &viewed.around) != CH_OK)
        viewed.around = (struct store_around){ 0 };
    snprintf(address, sizeof(address), "%s://%.*s", request->secure ? "https" : "http",
             200, request->host != NULL ? request->host : "THIS-ADDRESS");
    page_report_write(&request->answer.body, &viewed, request->id, address,
                      http_parameter_value(request, "all") != NULL);
    viewed_report_close(&viewed);
    page_finish(request, CH_OK, "report");
}
