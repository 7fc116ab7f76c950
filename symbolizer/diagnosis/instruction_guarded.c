// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/diagnosis/instruction.h"
#include "symbolizer/names/guarded_child.h"

enum { CPU_SECONDS = 2, WAIT_MS = 5000 };

static _Noreturn void guarded_instruction_run_child(const uint8_t *bytes, size_t size,
                                                    int to_parent)
{
    struct instruction found = { .length = 0 };
    guarded_child_enter(CPU_SECONDS);
    enum ch_status status = instruction_decode(bytes, size, &found);
    if (status == CH_OK && write(to_parent, &found, sizeof(found)) != sizeof(found))
        status = CH_ERR_IO;
    _exit((int)status);
}

// is_terminated says whether all names are terminated. The child read untrusted bytes,
// so its answer is untrusted as well.
static bool is_terminated(struct instruction *found)
{
    found->mnemonic[sizeof(found->mnemonic) - 1] = 0;
    found->text[sizeof(found->text) - 1] = 0;
    if (found->operand_count > INSTRUCTION_OPERANDS_MAX)
        return false;
    for (size_t i = 0; i < found->operand_count; i++) {
        struct instruction_operand *operand = &found->operands[i];
        operand->name[INSTRUCTION_NAME_MAX - 1] = 0;
        operand->segment[INSTRUCTION_NAME_MAX - 1] = 0;
        operand->base[INSTRUCTION_NAME_MAX - 1] = 0;
        operand->index[INSTRUCTION_NAME_MAX - 1] = 0;
    }
    return true;
}

static enum ch_status guarded_instruction_end_child(pid_t child, bool answered)
{
    int how;
    if (!answered)
        (void)kill(child, SIGKILL);
    while (waitpid(child, &how, 0) < 0) {
        if (errno != EINTR)
            return CH_ERR_IO;
    }
    return WIFEXITED(how) ? (enum ch_status)WEXITSTATUS(how) : CH_ERR_FAULT;
}

static enum ch_status instruction_ask_child(const uint8_t *bytes, size_t size,
                                            struct instruction *out)
{
    struct instruction found;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return CH_ERR_IO;
    // Relocating the library takes longer than all the child does, and the child that
    // makes values needs it again.
    instruction_prepare();
    pid_t child = fork();
    if (child == 0)
        guarded_instruction_run_child(bytes, size, ends[1]);
    (void)close(ends[1]);
    struct pollfd ready = { .fd = ends[0], .events = POLLIN };
    bool answered = child > 0 && poll(&ready, 1, WAIT_MS) == 1;
    // The answer is smaller than a pipe's atomic write, so it is read whole or not at
    // all.
    bool whole = answered && read(ends[0], &found, sizeof(found)) == sizeof(found);
    (void)close(ends[0]);
    if (child < 0)
        return CH_ERR_IO;
    enum ch_status status = guarded_instruction_end_child(child, answered);
    if (status == CH_OK && (!whole || !is_terminated(&found)))
        status = CH_ERR_FAULT;
    if (status == CH_OK)
        *out = found;
    return status;
}

// decoded is an answer of a child; size 0: none.
struct decoded {
    uint8_t bytes[16];
    size_t size;
    struct instruction found;
};

enum ch_status instruction_decode_guarded(const uint8_t *bytes, size_t size,
                                          struct instruction *out)
{
    // Most reports that one process works on are of few crashes, over and over.
    enum { KEPT = 16 };
    static _Thread_local struct decoded kept[KEPT];
    static _Thread_local size_t next;
    for (size_t i = 0; i < KEPT; i++) {
        if (kept[i].size != size || size == 0 ||
            memcmp(kept[i].bytes, bytes, size) != 0)
            continue;
        *out = kept[i].found;
        return CH_OK;
    }
    enum ch_status status = instruction_ask_child(bytes, size, out);
    if (status != CH_OK || size > sizeof(kept[0].bytes))
        return status;
    struct decoded *to = &kept[next++ % KEPT];
    *to = (struct decoded){ .size = size, .found = *out };
    memcpy(to->bytes, bytes, size);
    return CH_OK;
}
