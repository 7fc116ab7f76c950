// SPDX-License-Identifier: Apache-2.0
//
// What a program had logged and the C library had not written yet: a library that logs
// into a file (spdlog, or fprintf) leaves its last lines in the stream's buffer, and
// neither abort() nor a fatal signal writes them.
//
// glibc links its streams in a list. Only standard error and streams that were opened
// for appending are read: these are logs, and others are the program's data.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/live/capture.h"
#include "base/memory_reader.h"
#include "report/json/json_writer.h"

enum { UNWRITTEN_BYTES = 1024, UNWRITTEN_STREAMS = 4 };

// An unwritten is the last lines in a stream's buffer.
struct unwritten {
    int32_t descriptor;
    char text[UNWRITTEN_BYTES + 1];
};

// unwritten_read reads the streams whose list begins where the word at list leads to,
// and gives how many of out were filled. A buffer that holds no text is passed over.
size_t unwritten_read(const struct memory_reader *reader, uint64_t list,
                      struct unwritten out[static UNWRITTEN_STREAMS]);

// unwritten_write writes the member `unwritten` of the crash, if there is any.
void unwritten_write(struct json_writer *w, const struct capture *capture);
