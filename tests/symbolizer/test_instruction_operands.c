// SPDX-License-Identifier: Apache-2.0
//
// Every form of an instruction with a memory operand that the disassembler knows and
// this processor executes is made to fault, and the processor tells what the operand
// was: by the page fault's error code whether it was written, by the address that
// failed first at the edge of a page how many bytes it has.
#define _GNU_SOURCE
#include "symbolizer/code/instruction.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "support/test.h"

#if defined(__x86_64__)

enum { PAGE = 4096, FORMS_MAX = 60000, PAGE_FAULT = 14, WRITES = 2, FETCHES = 16 };

// A form is one encoding, what the product says of its operand at rax, and what the
// processor did.
struct form {
    uint8_t bytes[INSTRUCTION_BYTES_MAX];
    uint8_t length;
    enum operand_access access;
    uint16_t size;
    char text[64];
};

// An outcome is what running a form with its operand at one address led to.
struct outcome {
    int trap; // 0: the instruction was executed
    uint64_t error;
    uint64_t address;
};

// The operand lies in the middle two of four pages: the first of these may be accessed,
// the second may not.
struct area {
    uint8_t *code;
    uint8_t *open;
    uint8_t *closed;
    struct outcome *outcome; // shared with the child
};

static sigjmp_buf after_fault;
static struct outcome *noted;

static void note_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    const ucontext_t *user = context;
    *noted = (struct outcome){ .trap = (int)user->uc_mcontext.gregs[REG_TRAPNO],
                               .error = (uint64_t)user->uc_mcontext.gregs[REG_ERR],
                               .address = (uint64_t)(uintptr_t)info->si_addr };
    siglongjmp(after_fault, 1);
}

// run_form executes the code with every register pointing nowhere but rax, rsi and rdi.
static void run_form(const uint8_t *bytes, uint64_t operand)
{
    register const uint8_t *code __asm__("r11") = bytes;
    __asm__ volatile(
        "push %%rbx; push %%rbp; push %%r12; push %%r13; push %%r14; push %%r15\n"
        "xor %%ebx, %%ebx; xor %%ebp, %%ebp; xor %%edx, %%edx; mov $1, %%ecx\n"
        "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d\n"
        "xor %%r12d, %%r12d; xor %%r13d, %%r13d; xor %%r14d, %%r14d\n"
        "xor %%r15d, %%r15d\n"
        "mov %%rax, %%rsi; mov %%rax, %%rdi\n"
        "call *%%r11\n"
        "pop %%r15; pop %%r14; pop %%r13; pop %%r12; pop %%rbp; pop %%rbx\n"
        : "+a"(operand)
        : "r"(code)
        : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "memory", "cc");
}

static void set_masks(void)
{
    // Masked instructions access what the highest bits of a register select.
    if (__builtin_cpu_supports("avx2"))
        __asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n"
                         "vmovdqa %%ymm0, %%ymm1\n"
                         "vmovdqa %%ymm0, %%ymm15\n" ::
                             : "xmm0", "xmm1", "xmm15");
}

static _Noreturn void run_in_child(struct area *area, const struct form *form,
                                   uint64_t operand)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
    struct sigaction action = { .sa_sigaction = note_fault,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK };
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
    (void)sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaction(signals[i], &action, NULL);
    alarm(5);
    memset(area->code, 0xcc, 64);
    memcpy(area->code, form->bytes, form->length);
    noted = area->outcome;
    *noted = (struct outcome){ .trap = -1 };
    set_masks();
    if (sigsetjmp(after_fault, 1) == 0)
        run_form(area->code, operand);
    _exit(0);
}

// try_form runs the form in a child, because some change what the process needs.
static struct outcome try_form(struct area *area, const struct form *form,
                               uint64_t operand)
{
    pid_t pid = fork();
    if (pid == 0)
        run_in_child(area, form, operand);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    struct outcome outcome = *area->outcome;
    if (outcome.trap == 3) // the int3 after it
        outcome.trap = 0;
    return outcome;
}

static void map_area(struct area *area)
{
    uint8_t *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area->open = pages + PAGE;
    area->closed = pages + 2 * PAGE;
    (void)mprotect(area->closed, PAGE, PROT_NONE);
    area->code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area->outcome =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

// take_form adds the form if it decodes and has one operand in memory, at rax.
static void take_form(const uint8_t *bytes, size_t size, struct form *forms,
                      size_t *count)
{
    struct instruction decoded;
    const struct instruction_operand *operand = NULL;
    if (*count == FORMS_MAX || instruction_decode(bytes, size, &decoded) != CH_OK)
        return;
    for (size_t i = 0; i < decoded.operand_count; i++) {
        bool implied = strcmp(decoded.operands[i].base, "rsp") == 0;
        if (!decoded.operands[i].memory || implied)
            continue;
        if (operand != NULL)
            return;
        operand = &decoded.operands[i];
    }
    bool is_at_rax = operand != NULL && strcmp(operand->base, "rax") == 0 &&
                     operand->index[0] == 0 && operand->displacement == 0;
    if (!is_at_rax)
        return;
    struct form *form = &forms[(*count)++];
    *form = (struct form){ .length = decoded.length,
                           .access = operand->access,
                           .size = operand->size };
    memcpy(form->bytes, bytes, decoded.length);
    (void)snprintf(form->text, sizeof(form->text), "%.63s", decoded.text);
}

// Legacy encodings, in all maps with all prefixes that choose between instructions.
static size_t add_legacy(struct form *forms, size_t count)
{
    static const uint8_t prefixes[] = { 0, 0x66, 0xf3, 0xf2 };
    static const uint8_t maps[][2] = {
        { 0 }, { 0x0f }, { 0x0f, 0x38 }, { 0x0f, 0x3a }
    };
    for (unsigned i = 0; i < 4U * 4 * 2 * 256 * 8; i++) {
        uint8_t bytes[INSTRUCTION_BYTES_MAX] = { 0 };
        size_t size = 0;
        const uint8_t *map = maps[i >> 14 & 3];
        if (prefixes[i >> 12 & 3] != 0)
            bytes[size++] = prefixes[i >> 12 & 3];
        if (i >> 11 & 1)
            bytes[size++] = 0x48; // REX.W
        for (size_t j = 0; j < 2 && map[j] != 0; j++)
            bytes[size++] = map[j];
        bytes[size++] = (uint8_t)(i & 255);
        bytes[size++] = (uint8_t)((i >> 8 & 7) << 3); // [rax]
        take_form(bytes, sizeof(bytes), forms, &count);
    }
    return count;
}

// VEX and EVEX: maps, prefixes, vector lengths, W. vvvv: all ones, and register 1.
static size_t add_vector(struct form *forms, size_t count)
{
    for (unsigned i = 0; i < 2U * 4 * 4 * 4 * 2 * 256; i++) {
        uint8_t opcode = (uint8_t)(i & 255);
        uint8_t w = (uint8_t)(i >> 8 & 1);
        uint8_t length = (uint8_t)(i >> 9 & 3);
        uint8_t prefix = (uint8_t)(i >> 11 & 3);
        uint8_t map = (uint8_t)(i >> 13 & 3);
        uint8_t vvvv = i >> 15 & 1 ? 0x70 : 0x78;
        uint8_t evex[INSTRUCTION_BYTES_MAX] = { 0x62,
                                                0xf0 | map,
                                                (uint8_t)(w << 7 | vvvv | 4 | prefix),
                                                (uint8_t)(length << 5 | 8),
                                                opcode,
                                                0x08 };
        uint8_t vex[INSTRUCTION_BYTES_MAX] = {
            0xc4, 0xe0 | map, (uint8_t)(w << 7 | vvvv | length << 2 | prefix), opcode,
            0x08
        };
        bool group = opcode == 0xae || opcode == 0xf3;
        for (uint8_t reg = 0; map != 0 && length < 2 && reg < (group ? 8 : 1); reg++) {
            vex[4] = (uint8_t)((group ? reg : 1) << 3);
            take_form(vex, sizeof(vex), forms, &count);
        }
        if (map != 0 && length < 3)
            take_form(evex, sizeof(evex), forms, &count);
    }
    return count;
}

// has_wrong_access compares what the product says with the error code.
static bool has_wrong_access(struct area *area, const struct form *form, size_t *tried)
{
    uint64_t at = (uint64_t)(uintptr_t)area->closed;
    struct outcome outcome = try_form(area, form, at);
    bool faulted = outcome.trap == PAGE_FAULT && outcome.address - at < PAGE &&
                   !(outcome.error & FETCHES);
    // A bit of memory that a register counts is not in the operand, and the product
    // makes nothing of such a fault.
    bool is_bit = strncmp(form->text, "bt", 2) == 0;
    bool executed = outcome.trap == 0 && !is_bit;
    if (!faulted && !executed)
        return false;
    ++*tried;
    if (executed)
        return form->access != OPERAND_UNUSED;
    bool wrote = outcome.error & WRITES;
    bool says_written =
        form->access == OPERAND_WRITTEN || form->access == OPERAND_UPDATED;
    return form->access == OPERAND_UNUSED || form->access == OPERAND_UNKNOWN ||
           wrote != says_written ||
           (!is_bit && outcome.address - at >= (form->size != 0 ? form->size : 1));
}

// reaches_closed returns true if the operand at that distance from the end of the open
// page reached into the closed one.
static bool reaches_closed(struct area *area, const struct form *form, unsigned back)
{
    uint64_t edge = (uint64_t)(uintptr_t)area->closed;
    struct outcome outcome = try_form(area, form, edge - back);
    return outcome.trap == PAGE_FAULT && outcome.address == edge;
}

// is_for_size leaves out instructions whose operands may be more or less: the state of
// the processor, bits that a register counts, which may be anywhere, and what loads
// segment registers, which the child needs.
static bool is_for_size(const struct form *form)
{
    // Where the processor refuses sgdt and its kin, the kernel executes them itself. A
    // prefix for 16 bits is not put before jumps, and not beside REX.W.
    static const char *const others[] = { "xsave",  "xrstor", "mov fs", "mov gs",
                                          "lfs",    "lgs",    "mov ss", "lss",
                                          "mov ds", "mov es", "sgdt",   "sidt",
                                          "sldt",   "smsw",   "str ",   "bt" };
    bool is_jump = form->bytes[form->bytes[0] == 0x66] == 0xff;
    if (form->bytes[0] == 0x66 && (is_jump || form->bytes[1] == 0x48))
        return false;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(form->text, others[i], strlen(others[i])) == 0)
            return false;
    return form->access != OPERAND_UNUSED && form->size > 1;
}

static bool has_wrong_size(struct area *area, const struct form *form, size_t *tried)
{
    uint64_t at = (uint64_t)(uintptr_t)area->closed;
    struct outcome outcome = try_form(area, form, at);
    if (!is_for_size(form) || outcome.trap != PAGE_FAULT ||
        outcome.address - at >= PAGE)
        return false;
    // One byte less than the operand has to be enough to reach the next page, unless
    // the operand has to be aligned, and the whole of it must not reach it.
    struct outcome less = try_form(area, form, at - form->size + 1);
    bool aligned = less.trap != PAGE_FAULT && less.trap != 0;
    ++*tried;
    return reaches_closed(area, form, form->size) ||
           (!aligned && !reaches_closed(area, form, form->size - 1u));
}

static void show_wrong(const char *what, const struct form *form)
{
    printf("%s: ", what);
    for (size_t i = 0; i < form->length; i++)
        printf("%02x", form->bytes[i]);
    printf(" %s: %u, %u bytes\n", form->text, form->access, form->size);
}

static void operands_are_what_the_processor_takes_them_for(void **state)
{
    (void)state;
    struct area area;
    map_area(&area);
    struct form *forms = calloc(FORMS_MAX, sizeof(*forms));
    size_t count = add_vector(forms, add_legacy(forms, 0));
    size_t accesses = 0;
    size_t sizes = 0;
    size_t wrong = 0;
    size_t step = getenv("CRASHHOOK_FULL") != NULL ? 1 : 19;
#ifdef __SANITIZE_ADDRESS__
    step = 499; // each form has a process, which such a program takes long to make
#endif
    for (size_t i = 0; i < count; i += step) {
        bool access = has_wrong_access(&area, &forms[i], &accesses);
        bool size = !access && has_wrong_size(&area, &forms[i], &sizes);
        wrong += access || size;
        if (access || size)
            show_wrong(access ? "access" : "size", &forms[i]);
    }
    printf("%zu forms, one in %zu tried: %zu accesses and %zu sizes, %zu wrong\n",
           count, step, accesses, sizes, wrong);
    free(forms);
    if (accesses == 0) // no disassembler
        skip();
    assert_int_equal(wrong, 0);
}

// print_forms prints every form, and what the product says of its operand.
static int print_forms(void)
{
    static const char *const names[] = { [OPERAND_UNKNOWN] = "unknown",
                                         [OPERAND_UNUSED] = "unused",
                                         [OPERAND_READ] = "read",
                                         [OPERAND_WRITTEN] = "write",
                                         [OPERAND_UPDATED] = "update" };
    struct form *forms = calloc(FORMS_MAX, sizeof(*forms));
    size_t count = add_vector(forms, add_legacy(forms, 0));
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < forms[i].length; j++)
            printf("%02x", forms[i].bytes[j]);
        printf(" %s %u %s\n", names[forms[i].access], forms[i].size, forms[i].text);
    }
    free(forms);
    return 0;
}

// With --forms, the forms are printed for check_operands.py instead.
int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--forms") == 0)
        return print_forms();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_what_the_processor_takes_them_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
