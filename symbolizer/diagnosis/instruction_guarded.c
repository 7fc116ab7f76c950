// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/file.h"
#include "symbolizer/diagnosis/instruction.h"
#include "symbolizer/names/guarded_child.h"

enum { WAIT_MS = 5000 };

// question is what the child is to decode.
struct question {
    const uint8_t *bytes;
    size_t size;
};

// answer_question is a guarded_child_fn.
static enum ch_status answer_question(void *context, int to_parent)
{
    const struct question *question = context;
    struct instruction found = { .length = 0 };
    enum ch_status status = instruction_decode(question->bytes, question->size, &found);
    if (status == CH_OK && !file_write_all(to_parent, &found, sizeof(found)))
        status = CH_ERR_IO;
    return status;
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

static enum ch_status instruction_ask_child(const uint8_t *bytes, size_t size,
                                            struct instruction *out)
{
    struct question question = { bytes, size };
    struct instruction found;
    struct text CH_CLEANUP(text_deinit) answer = { .limit_bytes = sizeof(found) };
    // Relocating the library takes longer than all the child does, and the child that
    // makes values needs it again.
    instruction_prepare();
    enum ch_status status = guarded_child_run(
        answer_question, &question, guarded_child_now_ms() + WAIT_MS, &answer);
    if (status != CH_OK)
        return status;
    if (answer.size != sizeof(found))
        return CH_ERR_FAULT;
    memcpy(&found, answer.bytes, sizeof(found));
    if (!is_terminated(&found))
        return CH_ERR_FAULT;
    *out = found;
    return CH_OK;
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
