// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_crash.h"

#include <signal.h>
#include <string.h>

#include "agent/facts/raw_write.h"
#include "agent/facts/termination.h"
#include "base/hex.h"
#include "report/summary/crash_kind.h"
#include "report/summary/signal_name.h"
#include "report/summary/system_call_name.h"

// write_thrown writes the stack that the exception was thrown with.
static void write_thrown(struct json_writer *w, const struct thrown_stack *thrown)
{
    char base64[BASE64_SIZE(THROW_CBF_BYTES)];
    if (thrown->size == 0)
        return;
    base64_encode(thrown->cbf, thrown->size, base64);
    json_write_key(w, "backtrace");
    json_write_object(w);
    raw_write_count(w, "thread", (uint64_t)thrown->tid);
    json_write_key(w, "cbf");
    json_write_plain(w, base64);
    json_write_end(w, '}');
}

static void write_exception(struct json_writer *w, const struct capture *capture,
                            const struct crash_examination *crash)
{
    const struct crash_facts *facts = &crash->facts;
    if (facts->message != NULL || facts->exception_type == NULL)
        return;
    json_write_key(w, "exception");
    json_write_object(w);
    raw_write_string(w, "type", facts->exception_type);
    raw_write_words(w, capture, "what", facts->exception_what);
    write_thrown(w, &crash->thrown);
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
    if (facts->sender == facts->pid && facts->had_children) {
        json_write_key(w, "had_children");
        json_write_bool(w, true);
    }
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

// write_instruction writes what a disassembler needs later, in the free phase.
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

// write_operation writes the kind of access that the processor reported.
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

// write_region writes what is mapped at the fault's address.
static void write_region(struct json_writer *w, const struct capture *capture,
                         const struct crash_facts *facts)
{
    const struct crash_place *place = &facts->address_place;
    char permissions[4] = { place->readable ? 'r' : '-', place->writable ? 'w' : '-',
                            place->executable ? 'x' : '-', 0 };
    if (!crash_has_address(facts) || facts->general_protection)
        return;
    json_write_key(w, "region");
    json_write_object(w);
    raw_write_string(w, "state",
                     place->mapped     ? "mapped"
                     : place->unmapped ? "unmapped"
                                       : "free");
    if (place->mapped)
        raw_write_string(w, "permissions", permissions);
    if (place->path_size != 0)
        raw_write_path(w, capture, "path", place->path, place->path_size);
    json_write_end(w, '}');
}

static void write_fault_stack(struct json_writer *w, const struct crash_facts *facts)
{
    if (!crash_has_address(facts) || facts->stack.end <= facts->stack.start)
        return;
    json_write_key(w, "stack");
    json_write_object(w);
    raw_write_address(w, "start", facts->stack.start);
    raw_write_address(w, "end", facts->stack.end);
    if (facts->stack.grows) {
        json_write_key(w, "grows");
        json_write_bool(w, true);
    }
    if (facts->stack.limit_bytes != 0)
        raw_write_count(w, "limit_bytes", facts->stack.limit_bytes);
    json_write_end(w, '}');
}

// write_way writes that a return led to where no code is.
static void write_way(struct json_writer *w, const struct crash_facts *facts)
{
    if (facts->way != CRASH_WAY_RETURN)
        return;
    json_write_key(w, "target");
    json_write_object(w);
    raw_write_string(w, "by", "return");
    raw_write_address(w, "address", facts->way_address);
    json_write_end(w, '}');
}

static void write_system_call(struct json_writer *w, const struct crash_facts *facts)
{
    if (facts->signal != SIGSYS)
        return;
    json_write_key(w, "system_call");
    json_write_object(w);
    json_write_key(w, "number");
    json_write_int(w, facts->system_call);
    raw_write_address(w, "machine", facts->system_call_machine);
    raw_write_string(w, "name",
                     system_call_name(facts->system_call_machine, facts->system_call));
    json_write_end(w, '}');
}

// write_then writes what the program's own handler did about the crash.
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
    if (crash_kind(facts) == CRASH_KIND_PROTECTION_KEY)
        raw_write_count(w, "protection_key", capture->crash->info.si_pkey);
    if (facts->signal_only) {
        json_write_key(w, "signal_only");
        json_write_bool(w, true);
    }
    raw_write_count(w, "thread", (uint64_t)capture->crash->tid);
    raw_write_string(w, "kind", crash_kind_word(crash_kind(facts)));
    if (capture->termination != NULL)
        termination_write(w, capture);
    raw_write_words(w, capture, "message", facts->message);
    write_exception(w, capture, crash);
    write_sender(w, facts);
    write_memory(w, &facts->memory);
    write_operation(w, facts);
    write_region(w, capture, facts);
    write_fault_stack(w, facts);
    write_way(w, facts);
    write_system_call(w, facts);
    write_instruction(w, capture, crash);
    origins_write(w, capture, &crash->origins);
    waits_write(w, crash->waits);
    write_then(w, capture->crash);
    json_write_end(w, '}');
}
