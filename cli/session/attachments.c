// SPDX-License-Identifier: Apache-2.0
#include "cli/session/attachments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "base/text.h"
#include "report/secrets/sanitize.h"
#include "report/value/report.h"

enum { LIMIT_MAX_BYTES = 1 << 20 };

// open_attached_file opens the file; a path that begins with a masked home is in ours.
static int open_attached_file(const char *path, struct stat *out)
{
    struct text CH_CLEANUP(text_deinit) full = { 0 };
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home != NULL)
        text_append_string(&full, home);
    text_append_string(&full, full.size != 0 ? path + 1 : path);
    if (!text_ok(&full)) {
        errno = ENOMEM;
        return -1;
    }
    // O_NONBLOCK: opening a FIFO that took the file's place must not block.
    int fd = open(full.bytes, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, out) == 0 && S_ISREG(out->st_mode))
        return fd;
    (void)close(fd);
    errno = EINVAL;
    return -1;
}

static const char *why_not_attached(void)
{
    if (errno == ELOOP)
        return "it is a symbolic link";
    return errno == EINVAL ? "it is not a plain file" : strerror(errno);
}

// put_content adds the bytes as text if they are text, otherwise as base64.
static void put_content(json_t *attachment, const struct text *bytes,
                        const struct settings *settings)
{
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    json_t *plain = NULL;
    if (memchr(bytes->bytes, 0, bytes->size) == NULL) {
        if (settings->sanitize != SETTING_NO)
            sanitize_string(bytes->bytes, getenv("HOME"), &masked);
        else
            text_append_string(&masked, bytes->bytes);
        plain =
            text_ok(&masked) && masked.bytes != NULL ? json_string(masked.bytes) : NULL;
    }
    if (plain != NULL) {
        (void)json_object_set_new(attachment, "text", plain);
        return;
    }
    char *base64 = malloc(BASE64_SIZE(bytes->size));
    if (base64 == NULL)
        return;
    base64_encode(bytes->bytes, bytes->size, base64);
    (void)json_object_set_new(attachment, "base64", json_string(base64));
    free(base64);
}

// skip_half_line drops the rest of the line in which the part begins.
static void skip_half_line(struct text *bytes)
{
    const char *end = memchr(bytes->bytes, '\n', bytes->size);
    if (end == NULL)
        return;
    size_t skip = (size_t)(end + 1 - bytes->bytes);
    memmove(bytes->bytes, end + 1, bytes->size - skip + 1);
    bytes->size -= skip;
}

static void fill_attachment(json_t *attachment, const struct settings *settings)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    struct stat info = { 0 };
    const char *path = report_string(attachment, "path");
    int64_t limit = report_integer(attachment, "limit_bytes", 0);
    if (path == NULL || json_object_get(attachment, "size") != NULL)
        return;
    limit = limit < 0 || limit > LIMIT_MAX_BYTES ? LIMIT_MAX_BYTES : limit;
    int CH_CLEANUP(file_close) fd = open_attached_file(path, &info);
    if (fd < 0) {
        (void)json_object_set_new(attachment, "problem",
                                  json_string(why_not_attached()));
        return;
    }
    bool cut = info.st_size > limit;
    if (cut && lseek(fd, info.st_size - limit, SEEK_SET) < 0)
        return;
    // The file may still grow: read no more than the program requested.
    enum ch_status status = text_read(&bytes, fd, (size_t)limit);
    if ((status != CH_OK && status != CH_ERR_LIMIT) || !text_ok(&bytes)) {
        (void)json_object_set_new(attachment, "problem",
                                  json_string(why_not_attached()));
        return;
    }
    if (cut && bytes.size != 0)
        skip_half_line(&bytes);
    (void)json_object_set_new(attachment, "size", json_integer(info.st_size));
    if (bytes.size != 0)
        put_content(attachment, &bytes, settings);
}

void attachments_fill(json_t *report, const struct settings *settings)
{
    json_t *attachments = json_object_get(report, "attachments");
    for (size_t i = 0; i < json_array_size(attachments); i++) {
        json_t *attachment = json_array_get(attachments, i);
        if (json_is_object(attachment))
            fill_attachment(attachment, settings);
    }
}
