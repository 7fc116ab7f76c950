// SPDX-License-Identifier: Apache-2.0
#include "agent/live/problem_texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void problem_texts_say(void *texts, const char *format, ...)
{
    struct problem_texts *all = texts;
    va_list arguments;
    char *text;
    if (all->count == CAPTURE_PROBLEMS_MAX)
        return;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        return;
    all->texts[all->count++] = text;
    capture_problem(all->capture, all->stage, text, 0);
}

void problem_texts_deinit(struct problem_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->texts[i]);
    texts->count = 0;
}
