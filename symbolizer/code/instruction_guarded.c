// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/system/file.h"
#include "symbolizer/code/instruction.h"
#include "symbolizer/search/guarded_child.h"

enum { WAIT_MS = 5000 };

// question is what a child is to decode.
struct question {
    enum instruction_set set;
    uint8_t bytes[INSTRUCTION_BYTES_MAX];
    size_t size;
};

// asked is a child that works on a question ahead; of size 0: there is none.
struct asked {
    struct question question;
    struct guarded_child child;
};

// answer_question is a guarded_child_fn.
static enum ch_status answer_question(void *context, int to_parent)
{
    const struct question *question = context;
    struct instruction found = { .length = 0 };
    enum ch_status status =
        question->set == INSTRUCTION_AARCH64
            ? instruction_decode_aarch64(question->bytes, question->size, &found)
            : instruction_decode(question->bytes, question->size, &found);
    if (status == CH_OK && !file_write_all(to_parent, &found, sizeof(found)))
        status = CH_ERR_IO;
    return status;
}

// is_terminated returns true if all names are terminated. The child read untrusted
// bytes, so its answer is untrusted as well.
static bool is_terminated(struct instruction *found)
{
    found->text[sizeof(found->text) - 1] = 0;
    if (found->operand_count > INSTRUCTION_OPERANDS_MAX)
        return false;
    for (size_t i = 0; i < found->operand_count; i++) {
        struct instruction_operand *operand = &found->operands[i];
        operand->name[INSTRUCTION_NAME_MAX - 1] = 0;
        operand->base[INSTRUCTION_NAME_MAX - 1] = 0;
        operand->index[INSTRUCTION_NAME_MAX - 1] = 0;
        operand->length[INSTRUCTION_NAME_MAX - 1] = 0;
    }
    return true;
}

// take_answer waits for the child's answer.
static enum ch_status take_answer(struct guarded_child *child, struct instruction *out)
{
    struct instruction found;
    struct text CH_CLEANUP(text_deinit) answer = { .limit_bytes = sizeof(found) };
    enum ch_status status =
        guarded_child_finish(child, guarded_child_now_ms() + WAIT_MS, &answer);
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

// decoded is an answer to a question; of size 0: none.
struct decoded {
    struct question question;
    struct instruction found;
};

// Most reports that one process works on are of few crashes, over and over.
enum { KEPT = 16 };
static _Thread_local struct decoded kept[KEPT];
static _Thread_local size_t kept_next;
static _Thread_local struct asked ahead;

static bool is_question(const struct question *question, enum instruction_set set,
                        const uint8_t *bytes, size_t size)
{
    return size != 0 && question->size == size && question->set == set &&
           memcmp(question->bytes, bytes, size) == 0;
}

static const struct decoded *find_decoded(enum instruction_set set,
                                          const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < KEPT; i++)
        if (is_question(&kept[i].question, set, bytes, size))
            return &kept[i];
    return NULL;
}

// drop_ahead waits for a child whose answer nobody has asked for.
static void drop_ahead(void)
{
    struct instruction unwanted;
    if (ahead.question.size != 0)
        (void)!take_answer(&ahead.child, &unwanted);
    ahead.question.size = 0;
}

void instruction_decode_ahead(enum instruction_set set, const uint8_t *bytes,
                              size_t size)
{
    drop_ahead();
    if (size == 0 || size > INSTRUCTION_BYTES_MAX ||
        find_decoded(set, bytes, size) != NULL)
        return;
    memcpy(ahead.question.bytes, bytes, size);
    ahead.question.size = size;
    ahead.question.set = set;
    if (guarded_child_start_beside(answer_question, &ahead.question,
                                   guarded_child_now_ms() + WAIT_MS,
                                   &ahead.child) != CH_OK)
        ahead.question.size = 0;
}

enum ch_status instruction_decode_guarded(enum instruction_set set,
                                          const uint8_t *bytes, size_t size,
                                          struct instruction *out)
{
    const struct decoded *before = find_decoded(set, bytes, size);
    if (before != NULL) {
        *out = before->found;
        return CH_OK;
    }
    if (size == 0 || size > INSTRUCTION_BYTES_MAX)
        return CH_ERR_MALFORMED;
    if (!is_question(&ahead.question, set, bytes, size))
        instruction_decode_ahead(set, bytes, size);
    if (ahead.question.size == 0)
        return CH_ERR_IO;
    struct decoded *to = &kept[kept_next++ % KEPT];
    *to = (struct decoded){ .question = ahead.question };
    ahead.question.size = 0;
    enum ch_status status = take_answer(&ahead.child, &to->found);
    *out = to->found;
    if (status != CH_OK)
        to->question.size = 0;
    return status;
}
