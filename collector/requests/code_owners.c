// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/code_owners.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// The time grows by the square of a path's folders, and reports have any paths.
enum { PATTERN_SIZE = 512, PATH_SIZE = 1024, FOLDERS_MAX = 32 };

// is_too_deep returns true for a path that no file of a repository has.
static bool is_too_deep(const char *path)
{
    size_t folders = 0;
    for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
        folders++;
    return folders > FOLDERS_MAX || strlen(path) >= PATH_SIZE;
}

// matches_part is true if a pattern matches the path, or a folder that it is in: whole,
// the path alone.
static bool matches_part(const char *pattern, const char *path, bool whole)
{
    char part[PATH_SIZE];
    int flags = strstr(pattern, "**") != NULL ? 0 : FNM_PATHNAME;
    size_t length = strcspn(path, "/");
    while (!whole && path[length] != 0 && length < sizeof(part)) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)length, path);
        if (fnmatch(pattern, part, flags) == 0)
            return true;
        length += 1 + strcspn(path + length + 1, "/");
    }
    return fnmatch(pattern, path, flags) == 0;
}

static bool owns(const char *pattern, const char *path)
{
    char name[PATTERN_SIZE];
    (void)snprintf(name, sizeof(name), "%s", pattern[0] == '/' ? pattern + 1 : pattern);
    size_t length = strlen(name);
    bool folder = length > 1 && name[length - 1] == '/';
    if (folder)
        name[length - 1] = 0;
    // `docs/*` is for the files of a folder, and not for those of folders in it.
    bool whole = length > 2 && strcmp(&name[length - 2], "/*") == 0;
    for (const char *from = path; from != NULL; from = strchr(from, '/')) {
        from += *from == '/';
        if (matches_part(name, from, whole) && !(folder && strchr(from, '/') == NULL))
            return true;
    }
    return false;
}

void code_owners_find(const char *owners, const char *path, struct text *out)
{
    for (const char *line = is_too_deep(path) ? "" : owners; *line != 0;) {
        char pattern[PATTERN_SIZE];
        size_t length = strcspn(line, "\r\n");
        size_t end = strcspn(line, "#\r\n");
        size_t size = strcspn(line, " \t#\r\n");
        const char *names = line + size;
        (void)snprintf(pattern, sizeof(pattern), "%.*s", (int)size, line);
        bool counts =
            size != 0 && size < sizeof(pattern) && strchr("[!^", *line) == NULL;
        if (counts && owns(pattern, path)) {
            names += strspn(names, " \t");
            size_t rest =
                end > (size_t)(names - line) ? end - (size_t)(names - line) : 0;
            while (rest != 0 && strchr(" \t", names[rest - 1]) != NULL)
                rest--;
            text_clear(out);
            text_append(out, names, rest);
        }
        line += length + strspn(line + length, "\r\n");
    }
}
