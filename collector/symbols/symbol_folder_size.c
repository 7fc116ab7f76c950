// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/symbol_folder_size.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system/file.h"
#include "collector/entry/entry.h"

// cached_file is a file of the folder.
struct cached_file {
    char project[ENTRY_PROJECT_SIZE];
    char id[SYMBOL_FOLDER_ID_SIZE];
    enum symbol_kind kind;
    int64_t size;
    int64_t used_s;
};

struct cached_files {
    size_t root; // length of the folder's path
    struct cached_file *files;
    size_t count;
    size_t room;
    int64_t size;
};

// read_cached_name reads which file a path is, as ab/cdef….debug; false: none of ours.
static bool read_cached_name(const char *path, struct cached_file *out)
{
    const char *name = file_name(path);
    const char *dot = name + strcspn(name, ".");
    if (name - path < 3 || dot - name >= SYMBOL_FOLDER_ID_SIZE - 2)
        return false;
    (void)snprintf(out->id, sizeof(out->id), "%.2s%.*s", name - 3, (int)(dot - name),
                   name);
    for (out->kind = 0; out->kind < SYMBOL_KINDS; out->kind++)
        if (strcmp(dot, symbol_kind_ending(out->kind)) == 0)
            return symbol_folder_id_ok(out->id);
    return false;
}

// drop_killed_upload removes the file of an upload that was killed.
static void drop_killed_upload(const char *path, const struct stat *facts)
{
    enum { DAY_S = 24 * 3600 };
    if (strncmp(file_name(path), ".upload-", strlen(".upload-")) == 0 &&
        facts->st_mtim.tv_sec < time(NULL) - DAY_S)
        (void)unlink(path);
}

static void add_cached(struct cached_files *files, const char *path,
                       const struct stat *facts)
{
    static const char projects[] = "projects/";
    const char *inside = path + files->root;
    struct cached_file file = { .project = "" };
    if (!read_cached_name(path, &file)) {
        drop_killed_upload(path, facts);
        return;
    }
    inside += strspn(inside, "/");
    if (strncmp(inside, projects, strlen(projects)) == 0) {
        inside += strlen(projects);
        (void)snprintf(file.project, sizeof(file.project), "%.*s",
                       (int)strcspn(inside, "/"), inside);
    }
    if (files->count == files->room) {
        size_t room = files->room == 0 ? 64 : 2 * files->room;
        struct cached_file *grown = realloc(files->files, room * sizeof(*grown));
        if (grown == NULL)
            return;
        files->files = grown;
        files->room = room;
    }
    file.size = (int64_t)facts->st_blocks * 512;
    file.used_s = facts->st_mtim.tv_sec;
    files->size += file.size;
    files->files[files->count++] = file;
}

// add_folder adds the files in a folder and below it. musl has no fts_open.
// NOLINTNEXTLINE(misc-no-recursion): its paths have a length that is limited
static void add_folder(struct cached_files *files, const char *folder)
{
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return;
    for (struct dirent *entry = readdir(entries); entry != NULL;
         entry = readdir(entries)) {
        char path[SYMBOL_FOLDER_PATH_SIZE];
        struct stat facts;
        int length = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            length >= (int)sizeof(path) || lstat(path, &facts) != 0)
            continue;
        if (S_ISDIR(facts.st_mode))
            add_folder(files, path);
        else if (S_ISREG(facts.st_mode))
            add_cached(files, path, &facts);
    }
    (void)closedir(entries);
}

static int by_use(const void *a, const void *b)
{
    const struct cached_file *x = a;
    const struct cached_file *y = b;
    return (x->used_s > y->used_s) - (x->used_s < y->used_s);
}

void symbol_folder_trim(const char *folder, int64_t size, symbol_leave_fn *may_leave,
                        void *context)
{
    char path[SYMBOL_FOLDER_PATH_SIZE];
    struct cached_files files = { .root = strlen(folder) };
    add_folder(&files, folder);
    if (files.files == NULL)
        return;
    if (files.size > size)
        qsort(files.files, files.count, sizeof(*files.files), by_use);
    for (size_t i = 0; i < files.count && files.size > size; i++) {
        if (!may_leave(context, files.files[i].project, files.files[i].kind,
                       files.files[i].id))
            continue;
        symbol_folder_of(folder, files.files[i].project, path);
        symbol_folder_drop(path, files.files[i].kind, files.files[i].id);
        files.size -= files.files[i].size;
    }
    free(files.files);
}
