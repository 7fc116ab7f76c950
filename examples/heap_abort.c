// SPDX-License-Identifier: Apache-2.0
//
// heap_abort: twenty threads index the requests of a web server's log. For the index, a
// path is escaped in a buffer of the path's own length, but a quotation mark becomes
// three characters: the thread whose request has one writes past the buffer. The C
// library notices when that thread frees its next buffer, and aborts.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 20, SEARCH_WORKER = 13 };

struct shard {
    int number;
    const char *path;
    size_t indexed;
};

static pthread_barrier_t all_started;

// escape_path writes the path to out, with %22 for each quotation mark.
static void escape_path(char *out, const char *path)
{
    for (; *path != 0; path++) {
        if (*path == '"') {
            memcpy(out, "%22", 3);
            out += 3;
        } else {
            *out++ = *path;
        }
    }
    *out = 0;
}

__attribute__((noinline)) static size_t index_request(const char *path)
{
    char *escaped = malloc(strlen(path) + 1);
    char *entry = malloc(24);
    size_t length = 0;

    if (escaped != NULL && entry != NULL) {
        escape_path(escaped, path);
        length = strlen(escaped);
        snprintf(entry, 24, "%zu", length);
    }
    free(entry); // crashes here
    free(escaped);
    return length;
}

static void *index_shard(void *argument)
{
    struct shard *shard = argument;

    pthread_barrier_wait(&all_started);
    // The other threads are still working when this one gets to the quotation mark.
    for (int i = 0; shard->number != SEARCH_WORKER || i < 100; i++)
        shard->indexed += index_request("/catalogue/chairs/oak");
    shard->indexed += index_request(shard->path);
    return NULL;
}

int main(void)
{
    static struct shard shards[WORKERS];
    pthread_t threads[WORKERS];

    // Each worker gets its own heap arena, so that none waits for another.
    mallopt(M_ARENA_MAX, 2 * WORKERS);
    pthread_barrier_init(&all_started, NULL, WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        shards[i].number = i;
        shards[i].path = i == SEARCH_WORKER ? "/search?q=oak+\"desk\"-2" : "/catalogue";
        if (pthread_create(&threads[i], NULL, index_shard, &shards[i]) != 0) {
            perror("cannot start a worker");
            return 1;
        }
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
