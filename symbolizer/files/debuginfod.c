// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/debuginfod.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

// FETCH_MAX_BYTES is the longest file, as it is written: answers may be compressed.
// FETCH_MAX_MS is less than a guarded run has (symbolizer.h): a download that is ended
// here leaves nothing behind, one that is killed does.
enum { FETCH_MAX_BYTES = 1 << 30, FETCH_MAX_MS = 50000, LEFT_OVER_S = 600 };

typedef int progress_fn(void *client, long done, long of);

// client has the client's functions, as its header declares them.
struct client {
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *id, int id_size, char **path);
    void (*end)(void *client);
    void (*set_progress)(void *client, progress_fn *progress);
};

static bool load_client(struct client *out)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return false;
    // A function pointer is copied from dlsym's result by its bytes, as POSIX
    // recommends.
    void *begin = dlsym(library, "debuginfod_begin");
    void *find = dlsym(library, "debuginfod_find_debuginfo");
    void *end = dlsym(library, "debuginfod_end");
    memcpy(&out->begin, &begin, sizeof(begin));
    memcpy(&out->find, &find, sizeof(find));
    memcpy(&out->end, &end, sizeof(end));
    void *set_progress = dlsym(library, "debuginfod_set_progressfn");
    memcpy(&out->set_progress, &set_progress, sizeof(set_progress));
    return begin != NULL && find != NULL && end != NULL && set_progress != NULL;
}

static _Thread_local uint64_t deadline_ms;

static int is_fetched_too_long(void *client, long done, long of)
{
    (void)client;
    (void)of;
    return done > FETCH_MAX_BYTES || clock_now_ms(CLOCK_MONOTONIC) > deadline_ms;
}

// find_within_limits has the client fetch a file. A file that grows too long ends its
// write with EFBIG.
static int find_within_limits(const struct client *client, void *handle,
                              const struct build_id *id, char **out_path)
{
    struct rlimit before = { RLIM_INFINITY, RLIM_INFINITY };
    (void)getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit limit = before;
    if (limit.rlim_cur > FETCH_MAX_BYTES)
        limit.rlim_cur = FETCH_MAX_BYTES;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    deadline_ms = clock_now_ms(CLOCK_MONOTONIC) + FETCH_MAX_MS;
    client->set_progress(handle, is_fetched_too_long);
    int fd = client->find(handle, id->bytes, (int)id->size, out_path);
    (void)setrlimit(RLIMIT_FSIZE, &before);
    (void)signal(SIGXFSZ, handler);
    return fd;
}

// write_cache_path writes the path of the client's cache, as
// debuginfod_find_debuginfo(3) describes it.
static void write_cache_path(char out[PATH_MAX])
{
    static const char *const places[][2] = { { "DEBUGINFOD_CACHE_PATH", "" },
                                             { "XDG_CACHE_HOME", "/debuginfod_client" },
                                             { "HOME", "/.cache/debuginfod_client" } };
    out[0] = 0;
    for (size_t i = 0; i < 3 && out[0] == 0; i++) {
        const char *folder = getenv(places[i][0]);
        if (folder != NULL && folder[0] != 0)
            (void)snprintf(out, PATH_MAX, "%s%s", folder, places[i][1]);
    }
}

// drop_killed_downloads removes files of downloads that were killed: nobody writes to
// them any more, and the client itself does not remove them.
static void drop_killed_downloads(void)
{
    char pattern[PATH_MAX + 32];
    char cache[PATH_MAX];
    struct stat file;
    glob_t found = { 0 };
    write_cache_path(cache);
    (void)snprintf(pattern, sizeof(pattern), "%s/*/debuginfo.??????", cache);
    if (cache[0] != 0 && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (stat(found.gl_pathv[i], &file) == 0 &&
                file.st_mtim.tv_sec < time(NULL) - LEFT_OVER_S)
                (void)unlink(found.gl_pathv[i]);
    }
    globfree(&found);
}

enum ch_status debuginfod_fetch(const char *url, const struct build_id *id, char *path,
                                size_t size)
{
    struct client client;
    if (!load_client(&client))
        return CH_ERR_UNSUPPORTED;
    // The client reads its servers only from the environment.
    if (setenv("DEBUGINFOD_URLS", url, 1) != 0)
        return CH_ERR_NO_MEMORY;
    void *handle = client.begin();
    if (handle == NULL)
        return CH_ERR_NO_MEMORY;
    char *found = NULL;
    drop_killed_downloads();
    int fd = find_within_limits(&client, handle, id, &found);
    client.end(handle);
    if (fd < 0)
        return CH_ERR_NOT_FOUND;
    close(fd);
    int length = found != NULL ? snprintf(path, size, "%s", found) : -1;
    free(found);
    return length > 0 && (size_t)length < size ? CH_OK : CH_ERR_LIMIT;
}
