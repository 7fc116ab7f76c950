// SPDX-License-Identifier: Apache-2.0
//
// What a process had around it when it crashed, as far as that is gone once it has
// exited: open descriptors, limits, signals, processor time, environment. The rest is
// read afterwards, by `crashhook finish` (cli/session/surroundings.h).
//
// The process is held meanwhile, so only files of /proc are read, descriptors are
// limited in number, and no file of the program is opened. A descriptor's own
// information is read for files alone, where it has the position. Sockets are
// duplicated for their addresses, and closed at once. The environment is handed to the
// free phase in memory (held_file.h), which adds what a report shows of it.
#pragma once
#include "agent/live/capture.h"
#include "report/json/json_writer.h"

enum {
    SURROUNDINGS_DESCRIPTORS = 32,
    SURROUNDINGS_COUNTED = 256, // descriptors at most, where the kernel does not count
    SURROUNDINGS_POSITIONS = 8,
    SURROUNDINGS_ENVIRONMENT_BYTES = 32 << 10,
    SURROUNDINGS_THREADS = 8, // whose processor time is read
};

// surroundings_write writes the member `surroundings`, if there is a process.
void surroundings_write(struct json_writer *w, const struct capture *capture);

// surroundings_thread_write writes a thread's processor time; index is its index among
// the process's threads.
void surroundings_thread_write(struct json_writer *w, const struct capture *capture,
                               pid_t tid, size_t index);
