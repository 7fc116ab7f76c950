// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/unwritten.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "agent/facts/raw_write.h"
#include "agent/messages/exception.h"

enum {
    STREAMS_MAX = 256, // of a list, which may be a ring
    // Words of glibc's struct _IO_FILE, which is the same on all 64-bit machines.
    FLAGS = 0,
    WRITE_BASE = 4,
    WRITE_END = 5, // of what is in the buffer
    CHAIN = 13,
    DESCRIPTOR = 14,
    WORDS,
    APPENDS = 0x1000, // of the flags
};

// stream_is_log returns true if the words are a stream, and it is one to log to.
static bool stream_is_log(const uint64_t words[static WORDS])
{
    static const uint32_t magic = 0xfbad0000;
    uint32_t flags = (uint32_t)words[FLAGS];
    return (flags & 0xffff0000) == magic &&
           ((int32_t)words[DESCRIPTOR] == STDERR_FILENO || (flags & APPENDS) != 0);
}

static bool unwritten_is_text(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if ((c < ' ' && c != '\n' && c != '\t' && c != '\033') || c == 0x7f)
            return false;
    }
    return true;
}

// stream_read reads the end of a stream's buffer, from the beginning of a line on.
static bool stream_read(const struct memory_reader *reader,
                        const uint64_t words[static WORDS], struct unwritten *out)
{
    uint64_t size = words[WRITE_END] - words[WRITE_BASE];
    bool cut = size > UNWRITTEN_BYTES;
    if (words[WRITE_BASE] == 0 || words[WRITE_END] <= words[WRITE_BASE])
        return false;
    if (cut)
        size = UNWRITTEN_BYTES;
    if (memory_read(reader, words[WRITE_END] - size, out->text, size) != CH_OK ||
        !unwritten_is_text(out->text, size))
        return false;
    out->text[size] = 0;
    const char *end = cut ? strchr(out->text, '\n') : NULL;
    if (end != NULL)
        memmove(out->text, end + 1, strlen(end));
    out->descriptor = (int32_t)words[DESCRIPTOR];
    return out->text[0] != 0;
}

size_t unwritten_read(const struct memory_reader *reader, uint64_t list,
                      struct unwritten out[static UNWRITTEN_STREAMS])
{
    uint64_t words[WORDS];
    uint64_t at = 0;
    size_t count = 0;
    if (memory_read_word(reader, list, &at) != CH_OK)
        return 0;
    for (int i = 0; i < STREAMS_MAX && count < UNWRITTEN_STREAMS && at != 0 &&
                    memory_read(reader, at, words, sizeof(words)) == CH_OK;
         i++, at = words[CHAIN])
        count += stream_is_log(words) && stream_read(reader, words, &out[count]);
    return count;
}

void unwritten_write(struct json_writer *w, const struct capture *capture)
{
    struct unwritten found[UNWRITTEN_STREAMS];
    bool wanted = !capture->narrow && capture->settings->arguments != SETTING_NO;
    uint64_t list = wanted ? runtime_find_streams(capture) : 0;
    size_t count = list != 0 ? unwritten_read(&capture->reader, list, found) : 0;
    if (count == 0)
        return;
    json_write_key(w, "unwritten");
    json_write_array(w);
    for (size_t i = 0; i < count; i++) {
        json_write_object(w);
        // A closed stream has a negative one.
        if (found[i].descriptor >= 0)
            raw_write_count(w, "descriptor", (uint64_t)found[i].descriptor);
        raw_write_words(w, capture, "text", found[i].text);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}
