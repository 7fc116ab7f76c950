// SPDX-License-Identifier: Apache-2.0
//
// How it works: a code_path is followed instruction by instruction. `at` is where the
// stack pointer is, from the base register's value at the start; a conditional jump
// puts a copy of the path aside. The first path that comes to a return is converted to
// a row.
//
// x86-64 instructions are decoded as far as their length and their effect on the stack
// pointer need it (Intel SDM volume 2, chapter 2 and appendix A).
#include "backtrace/code_return.h"

#include <stddef.h>
#include <string.h>

#include "unwind/unwind_arch.h"

enum {
    WORD = 8,
    PATHS_MAX = 8,    // put aside at the same time
    TARGETS_MAX = 64, // of jumps
    STEPS_MAX = 2048, // of all paths
    SAVED_MAX = 12,
    FRAME_MAX = 1 << 24,
};

// A code_saved is a register that is loaded from the stack before the return.
struct code_saved {
    uint8_t reg; // its DWARF number
    int32_t at;
};

struct code_path {
    uint64_t pc;
    int64_t at;
    bool by_fp; // the base register is the frame pointer, not the stack pointer
    bool is_after_call;
    uint8_t saved_count;
    struct code_saved saved[SAVED_MAX];
};

struct code_search {
    struct code_range code;
    size_t steps;
    size_t count; // of the paths that were put aside
    struct code_path paths[PATHS_MAX];
    size_t target_count;
    uint64_t targets[TARGETS_MAX];
};

enum path_result { PATH_GOES_ON, PATH_LOST, PATH_RETURNS };

static uint32_t code_u32(uint64_t address, size_t size)
{
    uint32_t word = 0;
    memcpy(&word, (const void *)(uintptr_t)address, size);
    return word;
}

// path_load notes that a register is loaded from the stack, where its last value
// counts.
static void path_load(struct code_path *path, unsigned reg, int64_t at)
{
    size_t i = 0;
    while (i < path->saved_count && path->saved[i].reg != reg)
        i++;
    if (i == SAVED_MAX)
        return;
    path->saved[i] = (struct code_saved){ (uint8_t)reg, (int32_t)at };
    if (i == path->saved_count)
        path->saved_count++;
}

// path_to_fp sets the stack pointer to the frame pointer and an offset.
static void path_to_fp(struct code_path *path, int64_t offset)
{
    path->by_fp = true;
    path->at = offset;
    path->saved_count = 0;
}

// is_new returns true if a jump leads where none did before, and notes it: a loop is
// followed once.
static bool is_new(struct code_search *search, uint64_t target)
{
    for (size_t i = 0; i < search->target_count; i++)
        if (search->targets[i] == target)
            return false;
    if (search->target_count == TARGETS_MAX)
        return false;
    search->targets[search->target_count++] = target;
    return true;
}

// put_aside keeps the path with another address for later.
static void put_aside(struct code_search *search, const struct code_path *path,
                      uint64_t pc)
{
    if (search->count == PATHS_MAX || !is_new(search, pc))
        return;
    search->paths[search->count] = *path;
    search->paths[search->count++].pc = pc;
}

#if defined(__x86_64__)
enum {
    INSTRUCTION_MAX = 22, // what is read as one, though real ones have at most 15 bytes
    RSP = 4,
    RBP = 5,
    REX_R = 4,
    REX_B = 1,
    TWO_BYTES = 0x100, // an opcode that 0f precedes
    PUSH = 0x50,
    POP = 0x58,
    // What pads the end of a function, and begins one: a call before it did not return.
    LONG_NOP = TWO_BYTES | 0x1f,
    ENDBR64 = TWO_BYTES | 0x1e,
};

// An operand letter for each opcode: . none, m ModRM, b and d an immediate of 1 and 4
// bytes, B and D ModRM and that, q 4 or 8 bytes, x not followed.
static const char operands[] = "mmmmbdxxmmmmbdxxmmmmbdxxmmmmbdxx" // 00
                               "mmmmbdxxmmmmbdxxmmmmbdxxmmmmbdxx" // 20
                               "xxxxxxxxxxxxxxxx................" // 40
                               "xxxmxxxxdDbB....bbbbbbbbbbbbbbbb" // 60
                               "BDxBmmmmmmmmmmmm..........x....." // 80
                               "xxxx....bd......bbbbbbbbqqqqqqqq" // a0
                               "BBx.xxBDx.xxxbxxmmmmxxxxmmmmmmmm" // c0
                               "bbbbxxxxddxbxxxxxxxxx.mm......mm" // e0
                               "mmmmx.xxxxxxxmxxmmmmmmmmmmmmmmmm" // 0f 00
                               "xxxxxxxxmmmmmmmmx.xxxxxxxxxxxxxx" // 0f 20
                               "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm" // 0f 40
                               "mmmmmmmmmmmmmmmmBBBBmmm.xxxxmmmm" // 0f 60
                               "ddddddddddddddddmmmmmmmmmmmmmmmm" // 0f 80
                               "xx.mBmxxxxxmBmmmmmmmmmmmmxBmmmmm" // 0f a0
                               "mmBmBBBm........mmmmmmmmmmmmmmmm" // 0f c0
                               "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmx" // 0f e0
    ;

struct instruction {
    uint64_t end; // the address after it, or after what was read of it
    unsigned op;
    uint8_t rex;
    bool is_narrow; // it has an operand size prefix
    bool has_modrm;
    uint8_t modrm;
    uint8_t sib;
    int32_t displacement;
    int32_t immediate;
};

static uint8_t next_byte(struct instruction *i)
{
    return *(const uint8_t *)(uintptr_t)i->end++;
}

static int32_t next_number(struct instruction *i, size_t size)
{
    uint32_t number = code_u32(i->end, size);
    i->end += size;
    return size == 1 ? (int8_t)number : (int32_t)number;
}

static void read_opcode(struct instruction *i)
{
    const uint8_t prefixes[] = { 0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x3e, 0x64, 0x65 };
    uint8_t byte = next_byte(i);
    for (size_t n = 0; memchr(prefixes, byte, sizeof(prefixes)) != NULL && n < 8; n++) {
        i->is_narrow = i->is_narrow || byte == prefixes[0];
        byte = next_byte(i);
    }
    if (byte >> 4 == 4) {
        i->rex = byte;
        byte = next_byte(i);
    }
    i->op = byte;
    if (byte == 0x0f)
        i->op = TWO_BYTES | next_byte(i);
}

static void read_code_address(struct instruction *i)
{
    i->has_modrm = true;
    i->modrm = next_byte(i);
    unsigned mode = i->modrm >> 6;
    unsigned base = i->modrm & 7;
    if (mode == 3)
        return;
    if (base == RSP) {
        i->sib = next_byte(i);
        base = mode == 0 ? i->sib & 7 : 0;
    }
    if (mode == 1)
        i->displacement = next_number(i, 1);
    else if (mode == 2 || base == RBP)
        i->displacement = next_number(i, 4);
}

// read_code_instruction reads the one at i->end. False: it is not followed.
static bool read_code_instruction(struct instruction *i)
{
    enum { OP_38 = TWO_BYTES | 0x38, OP_3A = TWO_BYTES | 0x3a, TEST_8 = 0xf6 };
    read_opcode(i);
    char letter = operands[i->op];
    if (i->op == OP_38 || i->op == OP_3A) {
        letter = i->op == OP_38 ? 'm' : 'B';
        (void)next_byte(i);
    }
    if (letter == 'x')
        return false;
    if (letter == 'm' || letter == 'B' || letter == 'D')
        read_code_address(i);
    if ((i->op == TEST_8 || i->op == TEST_8 + 1) && (i->modrm >> 3 & 7) < 2)
        letter = i->op == TEST_8 ? 'b' : 'd';
    bool is_call_or_jump = i->op == 0xe8 || i->op == 0xe9;
    if (letter == 'b' || letter == 'B')
        i->immediate = next_number(i, 1);
    else if (letter == 'q' && i->rex & 8)
        i->end += 8;
    else if (letter == 'd' || letter == 'D' || letter == 'q')
        i->immediate = next_number(i, i->is_narrow && !is_call_or_jump ? 2 : 4);
    return true;
}

static bool is_kept_register(unsigned number)
{
    return number == 3 || number == RBP || number >= 12;
}

static unsigned dwarf_register(unsigned number)
{
    return number == RBP ? UNWIND_AMD64_FP : number;
}

// follow_address is for the instructions that set the stack pointer by ModRM, and for
// loads of registers from the stack.
static enum path_result follow_address(struct code_path *path,
                                       const struct instruction *i)
{
    bool is_register = i->modrm >> 6 == 3;
    unsigned reg = (i->modrm >> 3 & 7) | (i->rex & REX_R ? 8 : 0);
    unsigned rm = (i->modrm & 7) | (i->rex & REX_B ? 8 : 0);
    bool to_rm = is_register && rm == RSP;
    bool by_sp =
        !is_register && (i->modrm & 7) == RSP && i->sib == 0x24 && !(i->rex & REX_B);
    unsigned operation = i->modrm >> 3 & 7;
    switch (i->op) {
    case 0x81: // add, sub and cmp with a number
    case 0x83:
        if (to_rm && operation != 0 && operation != 5 && operation != 7)
            return PATH_LOST;
        if (to_rm && operation != 7)
            path->at += operation == 0 ? i->immediate : -(int64_t)i->immediate;
        return PATH_GOES_ON;
    case 0x89: // mov from reg
        if (to_rm && reg == RBP)
            path_to_fp(path, 0);
        return to_rm && reg != RBP ? PATH_LOST : PATH_GOES_ON;
    case 0x8b: // mov to reg
        if (reg == RSP && is_register && rm == RBP)
            path_to_fp(path, 0);
        else if (by_sp && is_kept_register(reg))
            path_load(path, dwarf_register(reg), path->at + i->displacement);
        return reg == RSP && !(is_register && rm == RBP) ? PATH_LOST : PATH_GOES_ON;
    case 0x8d: // lea
        if (reg == RSP && by_sp)
            path->at += i->displacement;
        else if (reg == RSP && rm == RBP && !is_register && i->modrm >> 6 != 0)
            path_to_fp(path, i->displacement);
        else if (reg == RSP)
            return PATH_LOST;
        return PATH_GOES_ON;
    case 0x8f: // pop
        path->at += WORD;
        return PATH_GOES_ON;
    case 0xff:
        if (operation == 6) // push
            path->at -= WORD;
        return operation >= 3 && operation != 6 ? PATH_LOST : PATH_GOES_ON;
    default: // sums that set the stack pointer; 38 to 3b compare
        return i->op < 0x38 && ((i->op % 8 < 2 && to_rm) ||
                                (i->op % 8 >= 2 && i->op % 8 < 4 && reg == RSP))
                   ? PATH_LOST
                   : PATH_GOES_ON;
    }
}

static enum path_result follow_push_or_pop(struct code_path *path,
                                           const struct instruction *i)
{
    unsigned reg = (i->op & 7) | (i->rex & REX_B ? 8 : 0);
    if (i->op < POP) {
        path->at -= WORD;
        return PATH_GOES_ON;
    }
    if (reg == RSP)
        return PATH_LOST;
    if (is_kept_register(reg))
        path_load(path, dwarf_register(reg), path->at);
    path->at += WORD;
    return PATH_GOES_ON;
}

static enum path_result follow_one(struct code_search *search, struct code_path *path)
{
    struct instruction i = { .end = path->pc };
    if (path->pc < search->code.low || path->pc + INSTRUCTION_MAX > search->code.high ||
        !read_code_instruction(&i))
        return PATH_LOST;
    uint64_t target = i.end + (uint64_t)(int64_t)i.immediate;
    path->pc = i.end;
    if (path->is_after_call && (i.op == LONG_NOP || i.op == ENDBR64))
        return PATH_LOST;
    path->is_after_call = i.op == 0xe8 || (i.op == 0xff && (i.modrm >> 3 & 7) == 2);
    if (i.op >> 4 == PUSH >> 4)
        return follow_push_or_pop(path, &i);
    if (i.op >> 4 == 7 || (i.op >= 0xe0 && i.op < 0xe4) ||
        i.op >> 4 == (TWO_BYTES | 0x80) >> 4)
        put_aside(search, path, target);
    if (i.has_modrm)
        return follow_address(path, &i);
    switch (i.op) {
    case 0x68:
    case 0x6a:
    case 0x9c: // push
        path->at -= WORD;
        return PATH_GOES_ON;
    case 0x9d: // popf
        path->at += WORD;
        return PATH_GOES_ON;
    case 0xc9: // leave
        path_to_fp(path, WORD);
        path_load(path, UNWIND_AMD64_FP, 0);
        return PATH_GOES_ON;
    case 0xe9: // jmp
    case 0xeb:
        path->pc = target;
        return is_new(search, target) ? PATH_GOES_ON : PATH_LOST;
    default:
        return i.op == 0xc3 ? PATH_RETURNS : PATH_GOES_ON;
    }
}
#else
enum { SP = 31, LINK = 30, FIRST_KEPT = 19 };

// follow_load notes the registers that a load from the stack sets, and moves the stack
// pointer.
static bool follow_load(struct code_path *path, uint32_t word)
{
    int64_t scaled = ((int64_t)(int32_t)(word << 10) >> 25) * WORD; // of pairs
    int64_t plain = (int64_t)(int32_t)(word << 11) >> 23;
    bool pair_by = (word & 0xffc003e0) == 0xa9400000 + (SP << 5);
    bool pair_after = (word & 0xffc003e0) == 0xa8c00000 + (SP << 5);
    bool one_by = (word & 0xffc003e0) == 0xf9400000 + (SP << 5);
    bool one_after = (word & 0xffe00fe0) == 0xf8400400 + (SP << 5);
    if (!pair_by && !pair_after && !one_by && !one_after)
        return false;
    int64_t at = path->at;
    if (pair_by)
        at += scaled;
    else if (one_by)
        at += (int64_t)(word >> 10 & 0xfff) * WORD;
    unsigned first = word & 31;
    unsigned second = word >> 10 & 31;
    if (first >= FIRST_KEPT && first != SP)
        path_load(path, first, at);
    if ((pair_by || pair_after) && second >= FIRST_KEPT && second != SP)
        path_load(path, second, at + WORD);
    if (pair_after || one_after)
        path->at += pair_after ? scaled : plain;
    return true;
}

static enum path_result follow_one(struct code_search *search, struct code_path *path)
{
    if (path->pc % 4 != 0 || path->pc < search->code.low ||
        path->pc + 4 > search->code.high)
        return PATH_LOST;
    const uint64_t pc = path->pc;
    uint32_t word = code_u32(pc, 4);
    path->pc += 4;
    if (word == 0xd65f03c0 || word == 0xd65f0bff || word == 0xd65f0fff) // ret, retaa
        return PATH_RETURNS;
    if ((word & 0xfc000000) == 0x14000000) { // b
        path->pc = pc + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
        return is_new(search, path->pc) ? PATH_GOES_ON : PATH_LOST;
    }
    // br, brk, hlt, and words that are no instruction
    if ((word & 0xfffffc1f) == 0xd61f0000 || word >> 21 == 0x6a1 ||
        word >> 21 == 0x6a2 || word >> 16 == 0)
        return PATH_LOST;
    if (word >> 24 == 0x54 || (word & 0x7e000000) == 0x34000000) // b.cond, cbz
        put_aside(search, path,
                  pc + (uint64_t)((int64_t)(int32_t)(word << 8) >> 13 << 2));
    else if ((word & 0x7e000000) == 0x36000000) // tbz
        put_aside(search, path,
                  pc + (uint64_t)((int64_t)(int32_t)(word << 13) >> 18 << 2));
    if (follow_load(path, word))
        return PATH_GOES_ON;
    int64_t immediate = (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
    if ((word & 0xff8003ff) == 0x910003ff) // add sp, sp
        path->at += immediate;
    else if ((word & 0xff8003ff) == 0xd10003ff) // sub sp, sp
        path->at -= immediate;
    else if ((word & 0xff8003ff) == 0x910003bf) // add sp, x29
        path_to_fp(path, immediate);
    else if ((word & 0xff8003ff) == 0xd10003bf) // sub sp, x29
        path_to_fp(path, -immediate);
    else if ((word & 0xffc003e0) == 0xa9800000 + (SP << 5)) // stp, which moves sp
        path->at += ((int64_t)(int32_t)(word << 10) >> 25) * WORD;
    else if ((word & 0xffe00fe0) == 0xf8000c00 + (SP << 5)) // str, which moves sp
        path->at += (int64_t)(int32_t)(word << 11) >> 23;
    return PATH_GOES_ON;
}
#endif

// path_row converts the path, which is at the return.
static bool path_row(const struct code_path *path, struct unwind_row *out)
{
#if defined(__x86_64__)
    const int64_t cfa = path->at + WORD;
    out->cfa.reg = path->by_fp ? UNWIND_AMD64_FP : UNWIND_AMD64_SP;
    out->ra = (struct unwind_rule){ .kind = UNWIND_AT_CFA, .offset = -WORD };
    out->flags = 0;
    const unsigned fp = UNWIND_AMD64_FP;
#else
    const int64_t cfa = path->at;
    out->cfa.reg = path->by_fp ? UNWIND_AARCH64_FP : UNWIND_AARCH64_SP;
    out->ra = (struct unwind_rule){ .kind = UNWIND_SAME };
    out->flags = UNWIND_RA_MANGLED; // it may be
    const unsigned fp = UNWIND_AARCH64_FP;
#endif
    if (cfa < (path->by_fp ? -FRAME_MAX : 0) || cfa > FRAME_MAX)
        return false;
    out->start = out->end = 0;
    out->cfa.kind = UNWIND_REGISTER_PLUS;
    out->cfa.offset = cfa;
    out->fp = (struct unwind_rule){ .kind = UNWIND_SAME };
    out->other_count = 0;
    for (size_t i = 0; i < path->saved_count; i++) {
        const struct code_saved *saved = &path->saved[i];
        if (saved->at < 0 && !path->by_fp)
            continue; // it is to be saved yet
        const struct unwind_rule rule = { .kind = UNWIND_AT_CFA,
                                          .offset = saved->at - cfa };
        if (saved->reg == fp)
            out->fp = rule;
#if defined(__aarch64__)
        else if (saved->reg == LINK)
            out->ra = rule;
#endif
        else
            out->others[out->other_count++] =
                (struct unwind_register_rule){ .reg = saved->reg, .rule = rule };
    }
    return true;
}

bool code_return_find(uint64_t pc, bool is_called, const struct code_range *code,
                      struct unwind_row *out)
{
    // What is after the code in its last page can be read.
    const uint64_t page = 4096;
    struct code_search search = { .code = { code->low,
                                            (code->high + page - 1) & -page } };
    struct code_path path = { .pc = pc, .is_after_call = is_called };
    while (search.steps++ < STEPS_MAX) {
        enum path_result result = follow_one(&search, &path);
        if (result == PATH_RETURNS && path_row(&path, out))
            return true;
        if (result == PATH_GOES_ON)
            continue;
        if (search.count == 0)
            return false;
        path = search.paths[--search.count];
    }
    return false;
}
