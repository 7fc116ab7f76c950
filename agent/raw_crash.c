// SPDX-License-Identifier: Apache-2.0
#include "agent/raw_crash.h"

#include "agent/raw_write.h"
#include "base/hex.h"
#include "report/crash_kind.h"
#include "report/crash_summary.h"
#include "report/signal_name.h"

// write_exception writes what the message says once more, for programs.
static void write_exception(struct json_writer *w, const struct capture *capture,
                            const struct crash_facts *facts)
{
    if (facts->message != NULL || facts->exception_type == NULL)
        return;
    json_write_key(w, "exception");
    json_write_object(w);
    raw_write_string(w, "type", facts->exception_type);
    raw_write_words(w, capture, "what", facts->exception_what);
    json_write_end(w, '}');
}

static void write_sender(struct json_writer *w, const struct crash_facts *facts)
{
    if (!facts->sent)
        return;
    json_write_key(w, "sender");
    json_write_object(w);
    raw_write_count(w, "pid", (uint64_t)facts->sender);
    raw_write_count(w, "uid", facts->sender_user);
    raw_write_string(w, "name", facts->sender_name);
    json_write_end(w, '}');
}

static void write_memory(struct json_writer *w, const struct crash_memory *memory)
{
    if (memory->limit == NULL)
        return;
    json_write_key(w, "memory_limit");
    json_write_object(w);
    raw_write_string(w, "name", memory->limit);
    raw_write_count(w, "limit_bytes", memory->limit_bytes);
    raw_write_count(w, "used_bytes", memory->used_bytes);
    json_write_end(w, '}');
}

// write_instruction keeps what a disassembler needs once nobody waits any more.
static void write_instruction(struct json_writer *w, const struct capture *capture,
                              const struct crash_examination *crash)
{
    char hex[2 * CRASH_INSTRUCTION_BYTES + 1];
    if (!crash_has_address(&crash->facts))
        return;
    hex_encode(crash->instruction, crash->instruction_size, hex);
    json_write_key(w, "instruction");
    json_write_object(w);
    raw_write_address(w, "address", crash->facts.pc);
    raw_write_string(w, "arch", capture->arch->name);
    raw_write_string(w, "bytes", hex);
    if (crash->has_stack_top)
        raw_write_address(w, "stack_top", crash->stack_top);
    json_write_end(w, '}');
}

// write_operation keeps what the processor said that it was about to do.
static void write_operation(struct json_writer *w, const struct crash_facts *facts)
{
    static const char *const names[] = { [CRASH_ACCESS_READ] = "read",
                                         [CRASH_ACCESS_WRITE] = "write",
                                         [CRASH_ACCESS_EXECUTE] = "execute" };
    if (!crash_has_address(facts) || facts->access == CRASH_ACCESS_UNKNOWN)
        return;
    json_write_key(w, "access");
    json_write_object(w);
    raw_write_string(w, "operation", names[facts->access]);
    json_write_end(w, '}');
}

static void write_verdict(struct json_writer *w, const struct capture *capture,
                          const struct crash_facts *facts)
{
    struct text summary = { 0 };
    struct text message = { 0 };
    crash_summary(facts, &summary);
    crash_message(facts, &message);
    raw_write_string(w, "kind", crash_kind(facts));
    raw_write_words(w, capture, "summary", summary.bytes);
    raw_write_words(w, capture, "message", message.bytes);
    text_deinit(&message);
    text_deinit(&summary);
}

// write_then keeps what the program's own handler did about the crash.
static void write_then(struct json_writer *w, const struct target_crash *crash)
{
    const siginfo_t *then = &crash->then;
    if (then->si_signo == 0 && !crash->exits)
        return;
    json_write_key(w, "then");
    json_write_array(w);
    json_write_object(w);
    if (then->si_signo != 0) {
        raw_write_count(w, "signal", (uint64_t)then->si_signo);
        raw_write_string(w, "name", signal_name(then->si_signo));
        json_write_key(w, "code");
        json_write_int(w, then->si_code);
        if (then->si_code > 0)
            raw_write_address(w, "address", (uint64_t)(uintptr_t)then->si_addr);
    } else {
        json_write_key(w, "exit_status");
        json_write_int(w, crash->exit_status);
    }
    json_write_end(w, '}');
    json_write_end(w, ']');
}

void raw_crash_write(struct json_writer *w, const struct capture *capture,
                     const struct crash_examination *crash)
{
    const struct crash_facts *facts = &crash->facts;
    json_write_key(w, "crash");
    json_write_object(w);
    raw_write_count(w, "signal", (uint64_t)facts->signal);
    raw_write_string(w, "name", signal_name(facts->signal));
    json_write_key(w, "code");
    json_write_int(w, facts->code);
    if (!facts->signal_only)
        raw_write_string(w, "code_name", signal_code_name(facts->signal, facts->code));
    if (crash_has_address(facts))
        raw_write_address(w, "address", facts->address);
    raw_write_count(w, "thread", (uint64_t)capture->crash->tid);
    write_verdict(w, capture, facts);
    write_exception(w, capture, facts);
    write_sender(w, facts);
    write_memory(w, &facts->memory);
    write_operation(w, facts);
    write_instruction(w, capture, crash);
    write_then(w, capture->crash);
    json_write_end(w, '}');
}
