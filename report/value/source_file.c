// SPDX-License-Identifier: Apache-2.0
#include "report/value/source_file.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/reachable.h"

// is_source decides by the name. C++'s standard headers have no extension.
static bool is_source(const char *path)
{
    static const char *const endings[] = {
        "C",   "H",   "S",   "adb", "ads", "asm", "c",   "c++", "cc",   "cpp",   "cppm",
        "cu",  "cuh", "cxx", "d",   "def", "f",   "f90", "go",  "h",    "h++",   "hh",
        "hpp", "hxx", "inc", "inl", "ipp", "ixx", "l",   "m",   "mm",   "pas",   "rs",
        "s",   "tcc", "tpp", "txx", "y",   "yy",  "ll",  "zig", "vala", "swift",
    };
    const char *dot = strrchr(file_name(path), '.');
    for (size_t i = 0; dot != NULL && i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (strcmp(dot + 1, endings[i]) == 0)
            return true;
    }
    return dot == NULL && strstr(path, "/include/c++/") != NULL &&
           strstr(path, "/../") == NULL;
}

enum ch_status source_file_open(const char *path, uint64_t limit_bytes, FILE **out)
{
    struct stat status;
    if (path[0] != '/' || !is_source(path))
        return CH_ERR_UNSUPPORTED;
    int fd = reachable_open(path);
    if (fd < 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status result = CH_OK;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        result = CH_ERR_NOT_FOUND;
    else if ((uint64_t)status.st_size > limit_bytes)
        result = CH_ERR_LIMIT;
    FILE *file = result == CH_OK ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        (void)close(fd);
        return result == CH_OK ? CH_ERR_NO_MEMORY : result;
    }
    *out = file;
    return CH_OK;
}
