// SPDX-License-Identifier: Apache-2.0
//
// overflow: a forum renders a discussion in a worker thread, one call for each level of
// answers. A moderator's merge has made a comment the answer to its own answer, so the
// levels never end, but the worker's stack does.
#include <pthread.h>
#include <stdio.h>

struct comment {
    const char *text;
    const struct comment *answer;
};

static const struct comment second;
static const struct comment first = { "Is it dishwasher safe?", &second };
static const struct comment second = { "It says so on the box.", &first };

// render_comment writes a comment, indented by its level, and returns the size in bytes
// of it and its answers.
__attribute__((noinline)) static size_t render_comment(const struct comment *comment,
                                                       int level)
{
    char line[160];
    int length = snprintf(line, sizeof(line), "%*s%s\n", level % 40, "", comment->text);

    size_t below = 0;
    if (comment->answer != NULL)
        below = render_comment(comment->answer, level + 1); // crashes here
    return below + (size_t)length;
}

static void *render_page(void *argument)
{
    size_t *size = argument;
    *size = render_comment(&first, 0);
    return NULL;
}

int main(void)
{
    pthread_t worker;
    size_t size = 0;

    if (pthread_create(&worker, NULL, render_page, &size) != 0) {
        perror("cannot start the worker");
        return 1;
    }
    pthread_join(worker, NULL);
    printf("%zu bytes\n", size);
    return 0;
}
