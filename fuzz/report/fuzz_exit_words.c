// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/session/exit_words.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct exit_words words;
    int fd = memfd_create("words", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size &&
        lseek(fd, 0, SEEK_SET) == 0 && exit_words_read(fd, &words) == CH_OK) {
        if (words.kind == CRASH_KIND_NONE || strlen(words.said) > size)
            abort();
        exit_words_deinit(&words);
    }
    close(fd);
    return 0;
}
