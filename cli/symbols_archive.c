// SPDX-License-Identifier: Apache-2.0
#include "cli/symbols_archive.h"

#include <dlfcn.h>
#include <locale.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/confine.h"
#include "base/system/file.h"
#include "symbolizer/search/guarded_child.h"

// A collector takes no larger file.
enum { FILE_BYTES_MAX = 1 << 30 };
enum { PART_BYTES = 1 << 16, UNPACK_MS = 600000, NAME_BYTES = 1024 };

// What is used of libarchive.so.13, as its headers declare it.
enum { ARCHIVE_EOF = 1, ARCHIVE_WARN = -20 };
struct archive;
struct archive_entry;
typedef ssize_t archive_read_fn(struct archive *archive, void *context,
                                const void **out);
static struct {
    struct archive *(*read_new)(void);
    int (*read_free)(struct archive *archive);
    int (*read_support_filter_all)(struct archive *archive);
    int (*read_support_format_ar)(struct archive *archive);
    int (*read_support_format_cpio)(struct archive *archive);
    int (*read_support_format_tar)(struct archive *archive);
    int (*read_support_format_zip)(struct archive *archive);
    int (*read_open)(struct archive *archive, void *context, void *open,
                     archive_read_fn *read, void *close);
    int (*read_open_fd)(struct archive *archive, int fd, size_t block);
    int (*read_next_header)(struct archive *archive, struct archive_entry **out);
    ssize_t (*read_data)(struct archive *archive, void *to, size_t size);
    const char *(*entry_pathname)(struct archive_entry *entry);
    mode_t (*entry_filetype)(struct archive_entry *entry);
} library;
static const char *const names[] = {
    "read_new",
    "read_free",
    "read_support_filter_all",
    "read_support_format_ar",
    "read_support_format_cpio",
    "read_support_format_tar",
    "read_support_format_zip",
    "read_open",
    "read_open_fd",
    "read_next_header",
    "read_data",
    "entry_pathname",
    "entry_filetype",
};
_Static_assert(sizeof(names) == sizeof(library), "every function has its name");

static bool load_libarchive(void)
{
    char name[64];
    void *opened = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; opened != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(name, sizeof(name), "archive_%s", names[i]);
        void *function = dlsym(opened, name);
        if (function == NULL)
            return false;
        // A function pointer is copied from dlsym's result by its bytes.
        memcpy((char *)&library + i * sizeof(function), &function, sizeof(function));
    }
    return opened != NULL;
}

static bool begins_with(int fd, off_t offset, const char *bytes)
{
    char found[32];
    ssize_t size = (ssize_t)strlen(bytes);
    return pread(fd, found, (size_t)size, offset) == size &&
           memcmp(found, bytes, (size_t)size) == 0;
}

bool symbols_archive_begins(FILE *file)
{
    // Of files by ar, packages alone; RPM; zip; zstd; xz; gzip; bzip2.
    static const char *const begin[] = {
        "!<arch>\ndebian-binary",
        "\xed\xab\xee\xdb",
        "PK\3\4",
        "\x28\xb5\x2f\xfd",
        "\xfd\x37zXZ",
        "\x1f\x8b\x08",
        "BZh",
    };
    bool found = begins_with(fileno(file), 257, "ustar"); // tar
    for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
        found = found || begins_with(fileno(file), 0, begin[i]);
    return found;
}

// unpacking is what the child has.
struct unpacking {
    int from;
    int to;
    int turn[2]; // the child waits at [1] until the parent has taken the file
    int to_parent;
};

// unpack_entry writes a file, and waits until the parent has taken it. CH_END: the
// parent wants no more.
static enum ch_status unpack_entry(const struct unpacking *unpacking,
                                   struct archive *archive, const char *name)
{
    static char part[PART_BYTES];
    const int to = unpacking->to;
    char more = 0;
    int64_t size = 0;
    ssize_t got;
    if (ftruncate(to, 0) != 0 || lseek(to, 0, SEEK_SET) != 0)
        return CH_ERR_IO;
    while ((got = library.read_data(archive, part, PART_BYTES)) > 0) {
        size += got;
        if (!file_write_all(to, part, (size_t)got))
            return CH_ERR_IO;
        if (!begins_with(to, 0, "\177ELF") && !begins_with(to, 0, "MODULE Linux "))
            return CH_OK;
        if (size > FILE_BYTES_MAX)
            return CH_ERR_LIMIT;
    }
    if (got < 0)
        return CH_ERR_MALFORMED;
    if (size == 0)
        return CH_OK;
    if (!file_write_all(unpacking->to_parent, name, strnlen(name, NAME_BYTES)) ||
        read(unpacking->turn[1], &more, 1) != 1)
        return CH_ERR_IO;
    return more != 0 ? CH_OK : CH_END;
}

// read_inner reads the archive that is a file of the archive context.
static ssize_t read_inner(struct archive *archive, void *context, const void **out)
{
    static char block[PART_BYTES];
    (void)archive;
    *out = block;
    return library.read_data(context, block, sizeof(block));
}

// unpack_archive unpacks the archive, or the inner one that outer is at.
// NOLINTNEXTLINE(misc-no-recursion): an inner archive opens no other
static enum ch_status unpack_archive(const struct unpacking *unpacking,
                                     struct archive *outer)
{
    static const char data[] = "data.tar"; // of a package of Debian
    struct archive_entry *entry = NULL;
    struct archive *archive = library.read_new();
    // Of an inner archive that cannot be read the outer one is damaged.
    enum ch_status failure = outer == NULL ? CH_ERR_UNSUPPORTED : CH_ERR_MALFORMED;
    enum ch_status status = CH_OK;
    int result = -1;
    if (archive == NULL)
        return CH_ERR_NO_MEMORY;
    (void)library.read_support_filter_all(archive);
    (void)library.read_support_format_ar(archive);
    (void)library.read_support_format_cpio(archive); // in RPM
    (void)library.read_support_format_tar(archive);
    (void)library.read_support_format_zip(archive);
    int opened = outer != NULL
                     ? library.read_open(archive, outer, NULL, read_inner, NULL)
                     : library.read_open_fd(archive, unpacking->from, PART_BYTES);
    while (opened == 0 && ((result = library.read_next_header(archive, &entry)) == 0 ||
                           result == ARCHIVE_WARN)) {
        const char *name = library.entry_pathname(entry);
        failure = CH_ERR_MALFORMED;
        if (name == NULL || name[0] == 0)
            name = "?"; // a name that is not UTF-8, or none
        if (library.entry_filetype(entry) == S_IFREG)
            status = outer == NULL && strncmp(name, data, strlen(data)) == 0
                         ? unpack_archive(unpacking, archive)
                         : unpack_entry(unpacking, archive, name);
        if (status != CH_OK)
            break;
    }
    if (status == CH_OK && result != ARCHIVE_EOF)
        status = failure;
    (void)library.read_free(archive);
    return status;
}

static enum ch_status unpack_confined(void *context, int to_parent)
{
    struct unpacking *unpacking = context;
    unpacking->to_parent = to_parent;
    (void)setlocale(LC_CTYPE, "C.UTF-8"); // without it, names of other bytes are lost
    confine_reader();
    return unpack_archive(unpacking, NULL);
}

// take_files takes each file that the child has written.
static void take_files(int from, int turn, FILE *to, symbols_archive_fn *take,
                       void *context)
{
    char name[NAME_BYTES + 1];
    char more = 1;
    ssize_t got;
    while (more != 0 && (got = read(from, name, NAME_BYTES)) > 0) {
        name[got] = 0;
        rewind(to);
        more = (char)take(context, to, name);
        (void)send(turn, &more, 1, MSG_NOSIGNAL);
    }
}

enum ch_status symbols_archive_read(FILE *file, symbols_archive_fn *take, void *context,
                                    const char **out_why)
{
    struct text CH_CLEANUP(text_deinit) none = { 0 };
    struct unpacking unpacking = { .from = fileno(file) };
    struct guarded_child child;
    *out_why = "libarchive (package libarchive13), which unpacks it, is not installed";
    if (!load_libarchive())
        return CH_ERR_NOT_FOUND;
    *out_why = "it cannot be unpacked into a temporary file";
    FILE *to = tmpfile();
    if (to == NULL)
        return CH_ERR_IO;
    unpacking.to = fileno(to);
    enum ch_status status = CH_ERR_IO;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, unpacking.turn) == 0) {
        status = guarded_child_start(unpack_confined, &unpacking,
                                     guarded_child_now_ms() + UNPACK_MS, &child);
        close(unpacking.turn[1]);
        if (status == CH_OK) {
            take_files(child.from, unpacking.turn[0], to, take, context);
            status =
                guarded_child_finish(&child, guarded_child_now_ms() + UNPACK_MS, &none);
        }
        close(unpacking.turn[0]);
    }
    (void)fclose(to);
    if (status == CH_ERR_LIMIT)
        *out_why = "a file in it has more than 1 GiB, or it takes too long to unpack";
    else if (status != CH_OK && status != CH_ERR_IO)
        *out_why = status == CH_ERR_MALFORMED     ? "it is a damaged archive"
                   : status == CH_ERR_UNSUPPORTED ? "it is no archive, or a damaged one"
                                                  : "it cannot be unpacked";
    return status == CH_END ? CH_OK : status;
}
