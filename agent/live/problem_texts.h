// SPDX-License-Identifier: Apache-2.0
//
// Problems of a capture whose messages are formatted at run time and must live as long
// as the capture. Users: core_capture, record_capture.
#pragma once
#include "agent/live/capture.h"

struct problem_texts {
    struct capture *capture;
    const char *stage; // of every problem
    char *texts[CAPTURE_PROBLEMS_MAX];
    size_t count;
};

// problem_texts_say adds a problem whose message is formatted as by printf. It is a
// core_say_fn over struct problem_texts.
void problem_texts_say(void *texts, const char *format, ...) CH_PRINTF(2, 3);
void problem_texts_deinit(struct problem_texts *texts);
