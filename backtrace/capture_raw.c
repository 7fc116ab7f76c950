// SPDX-License-Identifier: Apache-2.0
//
// Captures in any context: everything here may run in a signal handler.
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "backtrace/local_walk.h"
#include "formats/interchange/cbf.h"

enum { SKIPPED_AT_ONCE = 32, WRITTEN_FRAMES = 256, LINE_BYTES = 512 };

// read_context stores the registers that a signal interrupted.
ALIGNS_STACK static void read_context(const ucontext_t *context,
                                      struct unwind_registers *out)
{
#if defined(__x86_64__)
    static const uint8_t order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
                                     REG_RDI, REG_RBP, REG_RSP, REG_R8,  REG_R9,
                                     REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
                                     REG_R15, REG_RIP };
    for (size_t i = 0; i < sizeof(order); i++)
        out->value[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
#elif defined(__aarch64__)
    memcpy(out->value, context->uc_mcontext.regs, sizeof(context->uc_mcontext.regs));
    out->value[UNWIND_SP] = context->uc_mcontext.sp;
    out->value[UNWIND_PC] = context->uc_mcontext.pc;
#endif
}

// raw_next gives the next frames: at first the one that the walk is at. count says how
// many were given before.
static size_t raw_next(struct local_walk *walk, size_t count, uint64_t *addresses,
                       size_t room)
{
    if (count != 0)
        return local_walk_next(walk, addresses, room);
    if (room != 0)
        addresses[0] = walk->pc;
    return room != 0;
}

// raw_skip passes over frames, and gives their number, which is less if there are
// fewer.
static size_t raw_skip(struct local_walk *walk, size_t skipped)
{
    uint64_t addresses[SKIPPED_AT_ONCE];
    size_t done = 0;
    size_t count = 1;
    while (count != 0 && done < skipped) {
        size_t left = skipped - done;
        count = raw_next(walk, done, addresses,
                         left < SKIPPED_AT_ONCE ? left : SKIPPED_AT_ONCE);
        done += count;
    }
    return done;
}

// raw_addresses fills the buffer. given: frames that were skipped.
static size_t raw_addresses(struct local_walk *walk, size_t given, uint64_t *buffer,
                            size_t capacity)
{
    size_t total = 0;
    size_t count = 1;
    while (count != 0 && total < capacity) {
        count = raw_next(walk, given + total, buffer + total, capacity - total);
        total += count;
    }
    return total;
}

// raw_cbf fills the buffer with bytes. They end with `truncated` where there is no room
// for all frames.
static size_t raw_cbf(struct local_walk *walk, size_t given, void *buffer,
                      size_t capacity)
{
    uint64_t addresses[SKIPPED_AT_ONCE];
    struct cbf_writer writer;
    size_t count = 1;
    enum ch_status status =
        cbf_writer_init(&writer, 64, CBF_SPECIFIED, buffer, capacity);
    if (status != CH_OK)
        return 0;
    while (count != 0 && status == CH_OK) {
        count = raw_next(walk, given, addresses, SKIPPED_AT_ONCE);
        enum cbf_op op = walk->is_interrupted ? CBF_PC : CBF_RETURN_ADDRESS;
        for (size_t i = 0; i < count && status == CH_OK; i++)
            status = cbf_write_frame(&writer, op, addresses[i]);
        given += count;
    }
    if (status != CH_OK) {
        walk->end = CRASHHOOK_RAW_FULL;
        (void)!cbf_write_frame(&writer, CBF_TRUNC, 0);
    }
    cbf_write_end(&writer);
    return writer.size;
}

ALIGNS_STACK static size_t raw_capture(struct local_walk *walk, uint64_t *buffer,
                                       size_t capacity,
                                       const struct crashhook_raw_options *options)
{
    size_t offset = options != NULL ? options->offset : 0;
    size_t given = offset != 0 ? raw_skip(walk, offset) : 0;
    size_t count = 0;
    if (given == offset && options != NULL && options->cbf)
        count = raw_cbf(walk, given, buffer, capacity * sizeof(*buffer));
    else if (given == offset)
        count = raw_addresses(walk, given, buffer, capacity);
    local_walk_finish(walk);
    if (options != NULL && options->end != NULL)
        *options->end = walk->end;
    return count;
}

__attribute__((noinline)) size_t
crashhook_backtrace_capture_raw(uint64_t *buffer, size_t capacity,
                                const struct crashhook_raw_options *options)
{
    struct unwind_registers registers;
    struct local_walk walk;
    const void *context = options != NULL ? options->context : NULL;
    if (options != NULL && (options->size != sizeof(*options) ||
                            (unsigned)options->algorithm > CRASHHOOK_UNWIND_PRECISE)) {
        if (options->size == sizeof(*options) && options->end != NULL)
            *options->end = CRASHHOOK_RAW_INVALID;
        return 0;
    }
    if (context != NULL)
        read_context(context, &registers);
    else
        local_walk_here(&registers);
    local_walk_begin(&walk, &registers,
                     options != NULL ? options->algorithm : CRASHHOOK_UNWIND_AUTO);
    if (context == NULL)
        local_walk_to_caller(&walk, __builtin_frame_address(0),
                             (uintptr_t)__builtin_dwarf_cfa());
    return raw_capture(&walk, buffer, capacity, options);
}

// A line is what is written of one frame; what does not fit is left out.
struct line {
    char bytes[LINE_BYTES];
    size_t size;
};

static void line_add(struct line *line, const char *string)
{
    for (; *string != 0 && line->size < LINE_BYTES - 1; string++)
        line->bytes[line->size++] = *string;
}

static void line_add_number(struct line *line, uint64_t number, unsigned base,
                            unsigned digits)
{
    char text[24];
    size_t at = sizeof(text);
    text[--at] = 0;
    for (; number != 0 || digits != 0 || text[at] == 0; number /= base) {
        text[--at] = "0123456789abcdef"[number % base];
        digits -= digits != 0;
    }
    line_add(line, text + at);
}

static int write_line(int fd, const struct line *line)
{
    int before = errno;
    size_t done = 0;
    int error = 0;
    while (done < line->size && error == 0) {
        ssize_t size = write(fd, line->bytes + done, line->size - done);
        if (size > 0)
            done += (size_t)size;
        else if (errno != EINTR)
            error = size == 0 ? EIO : errno;
    }
    errno = before;
    return error;
}

static void line_add_image(struct line *line, uint64_t address)
{
    struct local_image image;
    const char *name = NULL;
    // The call before a return address may be the last instruction of its image.
    if (!local_code_image(address - 1, &image)) {
        line_add(line, "?");
        return;
    }
    const uint64_t headers = getauxval(AT_PHDR);
    if (headers >= image.start && headers < image.end)
        name = (const char *)getauxval(AT_EXECFN);
    else if (image.map != NULL)
        name = image.map->l_name;
    line_add(line, name != NULL && name[0] != 0 ? name : "?");
    line_add(line, "+0x");
    line_add_number(line, address - image.start, 16, 0);
}

ALIGNS_STACK static int write_addresses(int fd, const uint64_t *addresses, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        struct line line = { .size = 0 };
        line_add(&line, "#");
        line_add_number(&line, i, 10, 0);
        line_add(&line, " 0x");
        line_add_number(&line, addresses[i], 16, 16);
        line_add(&line, " ");
        line_add_image(&line, addresses[i]);
        line_add(&line, "\n");
        error = write_line(fd, &line);
    }
    return error;
}

int crashhook_backtrace_write_addresses(int fd, const uint64_t *addresses, size_t count)
{
    return write_addresses(fd, addresses, count);
}

__attribute__((noinline)) int crashhook_backtrace_write(int fd)
{
    struct unwind_registers registers;
    uint64_t addresses[WRITTEN_FRAMES];
    struct local_walk walk;
    local_walk_here(&registers);
    local_walk_begin(&walk, &registers, CRASHHOOK_UNWIND_AUTO);
    local_walk_to_caller(&walk, __builtin_frame_address(0),
                         (uintptr_t)__builtin_dwarf_cfa());
    size_t count = raw_capture(&walk, addresses, WRITTEN_FRAMES, NULL);
    return write_addresses(fd, addresses, count);
}
