// SPDX-License-Identifier: Apache-2.0
//
// The commits that may have brought a group's crash, and who owns the file that it is
// in: commits of the release that the group was first seen in, that changed a file of
// the crashed stack. Frames of the program's own count first, the innermost first.
#include <string.h>

#include "collector/entry/entry.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/query/commits.h"
#include "report/grouping/report_in_app.h"
#include "report/value/report.h"

enum {
    SUSPECTS_MOST = 3,
    SUSPECT_TEXT = 200,
    FILES_MOST = 12,
    COMMITS_OF_A_FILE = 20,
    HASH_SHOWN = 12,
};

// suspect is a commit, the file that it changed, and the frame that is in it.
struct suspect {
    char hash[72];
    char author[SUSPECT_TEXT];
    char subject[SUSPECT_TEXT];
    char path[SUSPECT_TEXT];
    size_t frame;
    int64_t time_ms;
};

struct suspects {
    struct suspect list[SUSPECTS_MOST];
    size_t count;
    char owners[SUSPECT_TEXT]; // of the first file that has any, by CODEOWNERS
    char owned[SUSPECT_TEXT];  // that file
};

// suspect_search is the search while the frames are gone through.
struct suspect_search {
    struct store *store;
    const struct release_commits *of;
    const char *files[FILES_MOST]; // that were looked for
    size_t file_count;
    size_t frame;
    struct text owners; // of the program
    struct suspects *out;
    enum ch_status status;
};

// is_same_file is true if one path ends with the other: that of a frame may begin with
// a folder of the build, and that of a commit with a folder of the repository.
static bool is_same_file(const char *one, const char *other)
{
    size_t length = strlen(one);
    size_t other_length = strlen(other);
    const char *longer = length < other_length ? other : one;
    const char *shorter = length < other_length ? one : other;
    const char *end = longer + strlen(longer) - strlen(shorter);
    return strcmp(end, shorter) == 0 && (end == longer || end[-1] == '/');
}

static bool is_suspected(const struct suspects *suspects, const char *hash)
{
    for (size_t i = 0; i < suspects->count; i++) {
        if (strcmp(suspects->list[i].hash, hash) == 0)
            return true;
    }
    return false;
}

static void take_commit(void *context, const struct commit *commit)
{
    struct suspect_search *search = context;
    struct suspects *out = search->out;
    const char *file = search->files[search->file_count - 1];
    if (out->count == SUSPECTS_MOST || !is_same_file(file, commit->path) ||
        is_suspected(out, commit->hash))
        return;
    struct suspect *suspect = &out->list[out->count++];
    *suspect = (struct suspect){ .frame = search->frame, .time_ms = commit->time_ms };
    entry_copy(suspect->hash, sizeof(suspect->hash), commit->hash);
    entry_copy(suspect->author, sizeof(suspect->author), commit->author);
    entry_copy(suspect->subject, sizeof(suspect->subject), commit->subject);
    entry_copy(suspect->path, sizeof(suspect->path), commit->path);
}

static void find_owners(struct suspect_search *search, const char *file)
{
    struct text CH_CLEANUP(text_deinit) owners = { 0 };
    if (search->out->owners[0] != 0 || search->owners.size == 0)
        return;
    code_owners_find(search->owners.bytes, file, &owners);
    if (owners.size == 0 || !text_ok(&owners))
        return;
    entry_copy(search->out->owners, SUSPECT_TEXT, owners.bytes);
    entry_copy(search->out->owned, SUSPECT_TEXT, file);
}

// look_at_file looks for a file that was not looked for yet.
static void look_at_file(struct suspect_search *search, const char *file)
{
    for (size_t i = 0; i < search->file_count; i++) {
        if (strcmp(search->files[i], file) == 0)
            return;
    }
    if (search->file_count == FILES_MOST)
        return;
    const char *slash = strrchr(file, '/');
    search->files[search->file_count++] = file;
    find_owners(search, file);
    if (search->of->release[0] != 0 && search->out->count != SUSPECTS_MOST)
        search->status =
            commits_of_file(search->store, search->of, slash != NULL ? slash + 1 : file,
                            COMMITS_OF_A_FILE, take_commit, search);
}

// suspects_find fills out from a report of the group.
static enum ch_status suspects_find(struct store *store,
                                    const struct store_group *group,
                                    const json_t *report, struct suspects *out)
{
    const struct release_commits of = { .project = group->project,
                                        .program = group->program,
                                        .release = group->first_release };
    struct suspect_search search = { .store = store, .of = &of, .out = out };
    const json_t *frames = report_frames(report_crashed_thread(report));
    *out = (struct suspects){ 0 };
    search.status = commits_owners(store, of.project, of.program, &search.owners);
    for (int system = 0; system <= 1 && search.status == CH_OK; system++) {
        json_t *frame;
        json_array_foreach(frames, search.frame, frame)
        {
            const char *file = report_string(frame, "file");
            if (file != NULL && report_frame_is_system(report, frame) == system &&
                search.status == CH_OK)
                look_at_file(&search, file);
        }
    }
    text_deinit(&search.owners);
    return search.status;
}

static void write_suspect(struct text *out, const struct suspect *suspect,
                          int64_t now_ms)
{
    char hash[HASH_SHOWN + 1];
    entry_copy(hash, sizeof(hash), suspect->hash);
    html_write(out, "<li><code>%s</code><span>%.*s</span><small>%.*s, ", hash,
               SUSPECT_TEXT, suspect->subject, SUSPECT_TEXT, suspect->author);
    page_write_time(out, suspect->time_ms, now_ms);
    html_write(out, "; it changed <b>%.*s</b>, frame %d</small></li>", SUSPECT_TEXT,
               suspect->path, (int)suspect->frame);
}

void page_suspects_write(struct text *out, struct store *store,
                         const struct store_group *group, const json_t *report,
                         int64_t now_ms)
{
    struct suspects suspects;
    // A page without them is better than no page.
    if (suspects_find(store, group, report, &suspects) != CH_OK ||
        (suspects.count == 0 && suspects.owners[0] == 0))
        return;
    html_write(out, "<section class=\"card\" id=\"suspects\">");
    if (suspects.count != 0)
        html_write(out, "<h2>Suspect commits of <b>%.*s</b></h2><ul class=\"entries\">",
                   PAGE_SHORT, group->first_release);
    else
        html_write(out, "<h2>Owners</h2>");
    for (size_t i = 0; i < suspects.count; i++)
        write_suspect(out, &suspects.list[i], now_ms);
    if (suspects.count != 0)
        html_write(out, "</ul>");
    if (suspects.owners[0] != 0)
        html_write(out,
                   "<p class=\"decision\"><b>%.*s</b> is owned by <b>%.*s</b>.</p>",
                   SUSPECT_TEXT, suspects.owned, SUSPECT_TEXT, suspects.owners);
    html_write(out, "</section>\n");
}
