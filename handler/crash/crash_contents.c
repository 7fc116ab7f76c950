// SPDX-License-Identifier: Apache-2.0
//
// The contents of a record (record_file.h), written in crash context (see crash.c).
// Memory that may be unmapped is never touched: the kernel copies it into the file, or
// reports an error; what the frame-pointer walk has to read is read back out of the
// file.
#include "handler/crash/crash.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "shared/context_page.h"
#include "shared/record_file.h"

#include "handler/machine/poison.h"

enum {
    STACK_PAGES = 64,  // kept from the stack pointer on
    STACK_HOLES = 4,   // unmapped pages to skip after an overflow
    FRAMES_MAX = 4096, // followed past those pages
    RED_ZONE = 128,    // below the stack pointer, used by leaf functions
    FRAME_SAVED = 48,
    MESSAGE_BYTES = 1024,
    FILE_LIMIT = 8 << 20 // of a copied file: maps of some 60,000 mappings
};

struct writer {
    int fd;
    uint64_t at;
};

// put_record_bytes appends the readable part of length bytes at address, and returns
// its size.
static size_t put_record_bytes(struct writer *w, uint64_t address, size_t length)
{
    long count = sys_write_at(w->fd, address, length, w->at);
    if (count <= 0)
        return 0;
    w->at += (uint64_t)count;
    return (size_t)count;
}

// begin_contents reserves a chunk's header; end fills it in, or drops an empty chunk.
static uint64_t begin_contents(struct writer *w)
{
    uint64_t start = w->at;
    w->at += sizeof(struct record_chunk);
    return start;
}

static void end_record_part(struct writer *w, uint64_t start, enum record_kind kind,
                            uint64_t address)
{
    const uint64_t size = w->at - start - sizeof(struct record_chunk);
    const struct record_chunk chunk = { kind, (uint32_t)size, address };
    if (size == 0 ||
        sys_write_at(w->fd, (uintptr_t)&chunk, sizeof(chunk), start) != sizeof(chunk))
        w->at = start;
}

static void put_chunk(struct writer *w, enum record_kind kind, uint64_t address,
                      size_t length)
{
    uint64_t start = begin_contents(w);
    put_record_bytes(w, address, length);
    end_record_part(w, start, kind, address);
}

static void put_file(struct writer *w, enum record_kind kind, const char *path)
{
    uint64_t start = begin_contents(w);
    int fd = sys_open(path, O_RDONLY | O_CLOEXEC);
    long count = 0;
    while (fd >= 0 && w->at - start < FILE_LIMIT &&
           (count = sys_read(fd, crash_plan->scratch, CRASH_SCRATCH)) > 0)
        put_record_bytes(w, (uintptr_t)crash_plan->scratch, (size_t)count);
    if (fd >= 0)
        sys_close(fd);
    end_record_part(w, start, kind, 0);
}

static void put_executable(struct writer *w)
{
    long length =
        sys_readlink("/proc/thread-self/exe", crash_plan->scratch, CRASH_SCRATCH);
    if (length > 0)
        put_chunk(w, RECORD_EXECUTABLE, (uintptr_t)crash_plan->scratch, (size_t)length);
}

// page_left is how much of the page at address may be stored: the argument and
// environment strings, with secrets among them, follow the first thread's stack.
static size_t page_left(uint64_t address)
{
    const uint64_t end = crash_plan->words_at;
    bool reaches = address < end && end - address < crash_plan->page_size;
    return reaches ? (size_t)(end - address) : crash_plan->page_size;
}

// put_stack keeps the stack from sp on and returns where it ends. After an overflow the
// mapped stack begins a page or more above sp.
static uint64_t put_stack(struct writer *w, uint64_t sp)
{
    const uint64_t page = crash_plan->page_size;
    uint64_t from = (sp - RED_ZONE) & ~(page - 1);
    uint64_t start = begin_contents(w);
    size_t count = 0;
    for (int i = 0;
         i < STACK_HOLES && (count = put_record_bytes(w, from, page_left(from))) == 0;
         i++)
        from += page;
    uint64_t to = from + count;
    for (int i = 1; count == page && i < STACK_PAGES; i++, to += count)
        count = put_record_bytes(w, to, page_left(to));
    end_record_part(w, start, RECORD_MEMORY, from);
    return to;
}

// put_frames follows frame pointers outward from fp and keeps what is past stack_end:
// each frame record, which is written after the last chunk and read back, and the
// registers that functions save below it.
static void put_frames(struct writer *w, uint64_t fp, uint64_t stack_end)
{
    for (int i = 0; i < FRAMES_MAX && fp != 0 && fp % sizeof(fp) == 0; i++) {
        uint64_t record[2] = { 0, 0 };
        if (sys_write_at(w->fd, fp, sizeof(record), w->at) != sizeof(record) ||
            sys_read_at(w->fd, record, sizeof(record), w->at) != sizeof(record))
            return;
        if (fp >= stack_end + FRAME_SAVED)
            put_chunk(w, RECORD_MEMORY, fp - FRAME_SAVED, FRAME_SAVED + sizeof(record));
        if (record[0] <= fp)
            return;
        fp = record[0];
    }
}

// put_message keeps glibc's abort message: a pointer and the text that it points to.
static void put_message(struct writer *w, uint64_t place)
{
    uint64_t message = 0;
    if (sys_write_at(w->fd, place, sizeof(message), w->at) != sizeof(message) ||
        sys_read_at(w->fd, &message, sizeof(message), w->at) != sizeof(message))
        return;
    put_chunk(w, RECORD_MEMORY, place, sizeof(message));
    put_chunk(w, RECORD_MEMORY, message, MESSAGE_BYTES);
}

static bool put_header(struct writer *w, enum record_reason reason)
{
    struct record_header *header = (struct record_header *)crash_plan->scratch;
    const volatile uint64_t *from = (const volatile uint64_t *)crash_plan->page;
    volatile uint64_t *to = (volatile uint64_t *)&header->page;

    header->magic = RECORD_MAGIC;
    header->version = RECORD_VERSION;
    header->size = sizeof(*header);
    header->pid = reason == RECORD_ALIVE ? crash_plan->page->crashed_tid
                                         : (int32_t)(crash_state.claim >> 32);
    header->ppid = crash_state.helper.program_ppid;
    header->uid = sys_getuid();
    header->reason = reason;
    for (size_t i = 0; i < sizeof(header->thread_name); i++)
        header->thread_name[i] = crash_state.helper.thread_name[i];
    for (size_t i = 0; i < sizeof(header->page) / sizeof(*to); i++)
        to[i] = from[i];
    return put_record_bytes(w, (uintptr_t)header, sizeof(*header)) == sizeof(*header);
}

bool crash_put_contents(int fd, enum record_reason reason)
{
    const struct record_chunk end = { .kind = RECORD_END };
    struct writer *w = &(struct writer){ .fd = fd };
    if (!put_header(w, reason))
        return false;
    // The context page begins where a file can be mapped.
    uint64_t start = begin_contents(w);
    w->at = crash_plan->page_size - sizeof(struct record_chunk);
    end_record_part(w, start, RECORD_FILLER, 0);
    put_chunk(w, RECORD_CONTEXT, crash_plan->page->context_page,
              sizeof(struct context_page));
    for (size_t i = 0; i < CRASH_KEPT_VARIABLES && crash_plan->kept[i] != NULL; i++)
        put_chunk(w, RECORD_VARIABLE, (uintptr_t)crash_plan->kept[i],
                  sys_length(crash_plan->kept[i]) + 1);
    put_executable(w);
    put_file(w, RECORD_MAPS, "/proc/thread-self/maps");
    if (reason != RECORD_ALIVE) {
        const uint64_t *registers = crash_plan->page->registers;
        uint64_t stack_end = put_stack(w, machine_stack_pointer(registers));
        put_frames(w, machine_frame_pointer(registers), stack_end);
        put_message(w, crash_plan->page->places.abort_message);
    }
    put_file(w, RECORD_AUXV, "/proc/thread-self/auxv");
    if (reason == RECORD_ALIVE)
        return put_record_bytes(w, (uintptr_t)&end, sizeof(end)) == sizeof(end);
    sys_truncate(w->fd, w->at);
    return true;
}
