// SPDX-License-Identifier: Apache-2.0
#include "net/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"

enum { TOKEN_MAX_BYTES = 8192 };

// add_token_header appends a token, which may hold only characters that a header
// allows.
static enum ch_status add_token_header(const char *token, size_t size, struct text *out,
                                       const char **out_why)
{
    static const char space[] = " \t\r\n";
    while (size > 0 && strchr(space, token[size - 1]) != NULL)
        size--;
    while (size > 0 && strchr(space, *token) != NULL) {
        token++;
        size--;
    }
    for (size_t i = 0; i < size; i++) {
        if (token[i] <= ' ' || token[i] > '~') {
            *out_why = "it holds characters that no token has";
            return CH_ERR_MALFORMED;
        }
    }
    text_append(out, token, size);
    *out_why = "out of memory";
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

enum ch_status token_read(const char *file, const char *value, struct text *out,
                          const char **out_why)
{
    char buffer[TOKEN_MAX_BYTES];
    struct stat status;
    if (file == NULL)
        return value != NULL ? add_token_header(value, strlen(value), out, out_why)
                             : CH_OK;

    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    int CH_CLEANUP(file_close) fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        *out_why = strerror(errno);
        return CH_ERR_IO;
    }
    if ((status.st_uid != geteuid() && status.st_uid != 0) ||
        (status.st_mode & S_IWOTH) != 0) {
        *out_why = "others may write to it";
        return CH_ERR_MALFORMED;
    }
    ssize_t size = read(fd, buffer, sizeof(buffer));
    if (size < 0) {
        *out_why = strerror(errno);
        return CH_ERR_IO;
    }
    if ((size_t)size == sizeof(buffer)) {
        *out_why = "it is too long for a token";
        return CH_ERR_MALFORMED;
    }
    return add_token_header(buffer, (size_t)size, out, out_why);
}
