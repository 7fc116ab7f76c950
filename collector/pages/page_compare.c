// SPDX-License-Identifier: Apache-2.0
//
// Two reports side by side: what differs between them, and where their stacks diverge.
#include <stdlib.h>
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/pages/pages.h"
#include "collector/requests/api.h"
#include "report/summary/readable_name.h"
#include "report/value/report.h"

// FRAMES_COMPARED must fit an unsigned char (struct stacks).
enum { FRAMES_COMPARED = 120, MEMBERS_COMPARED = 100, MEMBERS_KEPT = 1000 };

// pair is two reports that are compared.
struct pair {
    struct text *out;
    const json_t *reports[2];
    size_t same; // facts that are equal
};

// facts is where a fact is in a report: a member, or a member of a member.
static const struct {
    const char *name;
    const char *object;
    const char *key;
} facts[] = {
    { "Summary", "crash", "summary" },
    { "Signal", "crash", "name" },
    { "Kind", "crash", "kind" },
    { "Address", "crash", "address" },
    { "Message", "crash", "message" },
    { "Time", NULL, "time" },
    { "Release", NULL, "release" },
    { "Environment", NULL, "environment" },
    { "Program", "process", "executable" },
    { "Host", "host", "hostname" },
    { "System", "host", "os" },
    { "Kernel", "host", "kernel" },
    { "Architecture", "host", "arch" },
    { "Container", "host", "container" },
};

static bool equal_facts(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

// write_compared_fact writes a fact in which the reports differ, and counts one that is
// equal.
static void write_compared_fact(struct pair *pair, const char *name, const char *first,
                                const char *second)
{
    if (first == NULL && second == NULL)
        return;
    if (equal_facts(first, second)) {
        pair->same++;
        return;
    }
    html_write(pair->out,
               "<tr><th scope=\"row\">%.*s</th><td>%.*s</td><td>%.*s</td></tr>\n", 64,
               name, PAGE_SHORT, first, PAGE_SHORT, second);
}

static const char *fact_of(const json_t *report, size_t i)
{
    const json_t *object =
        facts[i].object != NULL ? json_object_get(report, facts[i].object) : report;
    return report_string(object, facts[i].key);
}

// write_compared_members compares the strings of two objects, such as tags or
// registers.
static void write_compared_members(struct pair *pair, const json_t *first,
                                   const json_t *second)
{
    const char *key;
    json_t *value;
    size_t seen = 0;
    json_object_foreach((json_t *)(uintptr_t)first, key, value)
    {
        if (seen++ < MEMBERS_COMPARED)
            write_compared_fact(pair, key, json_string_value(value),
                                report_string(second, key));
    }
    json_object_foreach((json_t *)(uintptr_t)second, key, value)
    {
        if (seen++ < 2 * MEMBERS_COMPARED && report_string(first, key) == NULL)
            write_compared_fact(pair, key, NULL, json_string_value(value));
    }
}

static void write_compared_facts(struct pair *pair)
{
    html_write(pair->out, "<section class=\"card\"><h2>What differs</h2><div "
                          "class=\"scroll\" tabindex=\"0\">"
                          "<table class=\"compared\"><thead><tr><td></td><th>First</th>"
                          "<th>Second</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        write_compared_fact(pair, facts[i].name, fact_of(pair->reports[0], i),
                            fact_of(pair->reports[1], i));
    write_compared_members(pair, json_object_get(pair->reports[0], "tags"),
                           json_object_get(pair->reports[1], "tags"));
    write_compared_members(
        pair, json_object_get(report_crashed_thread(pair->reports[0]), "registers"),
        json_object_get(report_crashed_thread(pair->reports[1]), "registers"));
    html_write(pair->out,
               "</tbody></table></div><p class=\"cut\">%zu other facts, tags and"
               " registers are the same.</p></section>\n",
               pair->same);
}

// stacks holds the frames of both crashed threads, and at same[i][k] the length of the
// longest common subsequence of the frames from i and from k on.
struct stacks {
    const json_t *frames[2];
    size_t counts[2];
    unsigned char same[FRAMES_COMPARED + 1][FRAMES_COMPARED + 1];
};

static const char *compared_frame_key(const json_t *frame)
{
    const char *function = report_string(frame, "function");
    return function != NULL ? function : report_string(frame, "image_offset");
}

static bool compared_frames_alike(const struct stacks *stacks, size_t i, size_t k)
{
    return equal_facts(compared_frame_key(json_array_get(stacks->frames[0], i)),
                       compared_frame_key(json_array_get(stacks->frames[1], k)));
}

static void measure_stacks(struct stacks *stacks)
{
    for (size_t i = stacks->counts[0]; i-- > 0;) {
        for (size_t k = stacks->counts[1]; k-- > 0;) {
            unsigned char down = stacks->same[i + 1][k];
            unsigned char right = stacks->same[i][k + 1];
            stacks->same[i][k] = compared_frames_alike(stacks, i, k)
                                     ? (unsigned char)(stacks->same[i + 1][k + 1] + 1)
                                 : down > right ? down
                                                : right;
        }
    }
}

static void write_compared_frame(struct text *out, const json_t *frame)
{
    const char *function = report_string(frame, "function");
    struct text name = { 0 };
    if (function != NULL)
        readable_name(function, &name);
    const char *shown =
        name.bytes != NULL ? name.bytes : report_string(frame, "address");
    html_write(out, "<td><code>%.*s</code>", PAGE_SHORT,
               shown != NULL ? shown : "frames left out");
    if (report_string(frame, "file") != NULL)
        html_write(out, "<span class=\"path\">%.*s:%lld</span>", PAGE_SHORT,
                   report_string(frame, "file"),
                   (long long)report_integer(frame, "line", 0));
    html_write(out, "</td>");
    text_deinit(&name);
}

// write_rows walks along the longest common subsequence: a frame of both stacks gets
// one row, a frame of one stack a row with an empty cell.
static void write_rows(struct text *out, const struct stacks *stacks)
{
    size_t i = 0;
    size_t k = 0;
    while (i < stacks->counts[0] || k < stacks->counts[1]) {
        bool both = i < stacks->counts[0] && k < stacks->counts[1] &&
                    compared_frames_alike(stacks, i, k);
        bool first =
            both || k == stacks->counts[1] ||
            (i < stacks->counts[0] && stacks->same[i + 1][k] >= stacks->same[i][k + 1]);
        html_write(out, both ? "<tr>" : "<tr class=\"differs\">");
        if (first)
            write_compared_frame(out, json_array_get(stacks->frames[0], i++));
        else
            html_write(out, "<td></td>");
        if (both || !first)
            write_compared_frame(out, json_array_get(stacks->frames[1], k++));
        else
            html_write(out, "<td></td>");
        html_write(out, "</tr>\n");
    }
}

static void write_stacks(struct pair *pair)
{
    struct stacks *stacks = calloc(1, sizeof(*stacks));
    if (stacks == NULL)
        return;
    for (size_t i = 0; i < 2; i++) {
        stacks->frames[i] = report_frames(report_crashed_thread(pair->reports[i]));
        size_t count = json_array_size(stacks->frames[i]);
        stacks->counts[i] = count < FRAMES_COMPARED ? count : FRAMES_COMPARED;
    }
    measure_stacks(stacks);
    html_write(pair->out,
               "<section class=\"card\"><h2>Crashed threads <small>%d frames in both"
               "</small></h2><div class=\"scroll\" tabindex=\"0\"><table "
               "class=\"compared stacks-beside\">"
               "<thead><tr><th>First</th><th>Second</th></tr></thead><tbody>\n",
               stacks->same[0][0]);
    write_rows(pair->out, stacks);
    html_write(pair->out, "</tbody></table></div></section>\n");
    free(stacks);
}

// part is what is compared of a report; the rest is freed, so that two large reports
// are never in memory at once.
struct part {
    json_t *json;
    char id[HTTP_ID_SIZE];
    char group[ENTRY_GROUP_SIZE];
    char title[256];
};

static void keep_member(json_t *part, json_t *report, const char *key)
{
    json_t *value = json_object_get(report, key);
    if (value != NULL && json_object_size(value) <= MEMBERS_KEPT)
        json_object_set(part, key, value);
}

static json_t *keep_crashed_thread(const json_t *report)
{
    json_t *thread = report_crashed_thread(report);
    json_t *frames = report_frames(thread);
    while (json_array_size(frames) > FRAMES_COMPARED)
        json_array_remove(frames, json_array_size(frames) - 1);
    if (json_object_size(json_object_get(thread, "registers")) > MEMBERS_KEPT)
        json_object_del(thread, "registers");
    return thread != NULL ? json_pack("[O]", thread) : json_array();
}

static void compare_part_init(struct part *part, const struct viewed_report *viewed,
                              const char *id)
{
    static const char *const kept[] = { "crash",   "time", "release", "environment",
                                        "process", "host", "tags" };
    json_t *report = viewed->opened.json;
    part->json = json_object();
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        keep_member(part->json, report, kept[i]);
    json_object_set_new(part->json, "threads", keep_crashed_thread(report));
    entry_copy(part->id, sizeof(part->id), id);
    entry_copy(part->group, sizeof(part->group), viewed->group);
    entry_copy(part->title, sizeof(part->title), viewed->title);
}

static void write_pair(struct http_request *request, const struct part parts[2])
{
    struct pair pair = { .out = &request->answer.body,
                         .reports = { parts[0].json, parts[1].json } };
    page_begin(pair.out, "Two reports", "Two reports");
    html_write(pair.out,
               "<section class=\"hero\"><p class=\"kicker\"><a href=\"/groups/%s\">"
               "%.*s</a></p><h1>Two reports</h1><p class=\"links\">"
               "<a href=\"/reports/%s\">First</a><a href=\"/reports/%s\">Second</a></p>"
               "</section>\n",
               parts[0].group, PAGE_SHORT, parts[0].title, parts[0].id, parts[1].id);
    write_compared_facts(&pair);
    write_stacks(&pair);
    page_finish(request, CH_OK, "report");
}

// read_compared_ids reads the two parameters `r`; false: it failed the request.
static bool read_compared_ids(struct http_request *request, const char *ids[2])
{
    size_t count = 0;
    for (size_t i = 0; i < request->parameter_count; i++) {
        if (strcmp(request->parameters[i].key, "r") != 0)
            continue;
        if (count < 2)
            ids[count] = request->parameters[i].value;
        count++;
    }
    if (count != 2)
        http_fail(request, 400, "choose two reports to compare");
    return count == 2;
}

void page_compare(struct http_request *request)
{
    struct part parts[2] = { 0 };
    const char *ids[2];
    size_t opened = 0;
    struct viewed_report viewed;
    if (!read_compared_ids(request, ids))
        return;
    for (size_t i = 0; i < 2; i++) {
        if (!collector_of(request)->reading && !api_audit(request, "view", ids[i]))
            return;
    }
    while (opened < 2 && viewed_report_open(request, ids[opened], &viewed)) {
        compare_part_init(&parts[opened], &viewed, ids[opened]);
        viewed_report_close(&viewed);
        opened++;
    }
    if (opened == 2)
        write_pair(request, parts);
    json_decref(parts[0].json);
    json_decref(parts[1].json);
}
