// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_arch.h"

#include <string.h>

#include "base/cursor.h"
#include "formats/debug/elf.h"
#include "formats/debug/unwind_row.h"
#include "unwind/unwind_state.h"
#include "unwind/unwind_types.h"

enum { WORD = 8, NARROW_WORD = 4 };

// arch_read_words reads count consecutive words that the kernel saved.
static bool arch_read_words(const struct memory_reader *memory, uint64_t address,
                            uint64_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (memory_read_word(memory, address + i * WORD, &out[i]) != CH_OK)
            return false;
    }
    return true;
}

// code_is compares the instructions at pc.
static bool code_is(const struct memory_reader *memory, uint64_t pc,
                    const uint8_t *bytes, size_t size)
{
    uint8_t code[16];
    return memory_read(memory, pc, code, size) == CH_OK &&
           memcmp(code, bytes, size) == 0;
}

// read_narrow_context reads the registers that the kernel has saved for a 32-bit
// program.
static bool read_narrow_context(const struct memory_reader *memory, uint64_t address,
                                struct unwind_registers *out)
{
    // After the segments: edi, esi, ebp, esp, ebx, edx, ecx, eax, two words, eip.
    enum { SEGMENTS = 16, SAVED = 11, SKIPPED = 0xff };
    static const uint8_t order[SAVED] = { 7, 6, 5, 4, 3, 2, 1, 0, SKIPPED, SKIPPED, 8 };
    for (size_t i = 0; i < SAVED; i++) {
        uint64_t word;
        if (memory_read_word(memory, address + SEGMENTS + i * NARROW_WORD, &word) !=
            CH_OK)
            return false;
        if (order[i] != SKIPPED)
            out->value[order[i]] = word;
    }
    return true;
}

// i386_read_signal expects int $0x80 with the number of rt_sigreturn at pc, or pop %eax
// and that of sigreturn. The stack begins with the handler's arguments: of the first,
// the third is the ucontext; of the second, the registers follow the only one.
static bool i386_read_signal(const struct memory_reader *memory, uint64_t pc,
                             uint64_t sp, struct unwind_registers *out)
{
    static const uint8_t with_info[] = { 0xb8, 0xad, 0, 0, 0, 0xcd, 0x80 };
    static const uint8_t plain[] = { 0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80 };
    enum { THIRD = 2 * NARROW_WORD, CONTEXT_TO_REGISTERS = 20 };
    uint64_t context;
    if (code_is(memory, pc, plain, sizeof(plain)))
        return read_narrow_context(memory, sp + NARROW_WORD, out);
    return code_is(memory, pc, with_info, sizeof(with_info)) &&
           memory_read_word(memory, sp + THIRD, &context) == CH_OK &&
           read_narrow_context(memory, context + CONTEXT_TO_REGISTERS, out);
}

// amd64_read_signal expects mov $15,%rax; syscall at pc, or the syscall alone: the
// stack is the same between the two.
static bool amd64_read_signal(const struct memory_reader *memory, uint64_t pc,
                              uint64_t sp, struct unwind_registers *out)
{
    static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    // The order of struct sigcontext: r8 to r15, then these.
    static const uint8_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5,
                                     4, 6, 3,  1,  0,  2,  7,  16 };
    // Before the registers, a ucontext has uc_flags, uc_link and uc_stack.
    enum { CONTEXT_TO_REGISTERS = 40, MOV_SIZE = 7 };
    uint64_t saved[sizeof(order)];

    // This is called for every frame, and two bytes rule out nearly all of them.
    uint8_t head[2];
    if (memory_read(memory, pc, head, sizeof(head)) != CH_OK)
        return false;
    bool at_mov = memcmp(head, code, sizeof(head)) == 0;
    if (!at_mov && memcmp(head, code + MOV_SIZE, sizeof(head)) != 0)
        return false;
    if (!code_is(memory, at_mov ? pc : pc - MOV_SIZE, code, sizeof(code)) ||
        !arch_read_words(memory, sp + CONTEXT_TO_REGISTERS, saved, sizeof(order)))
        return false;
    for (size_t i = 0; i < sizeof(order); i++)
        out->value[order[i]] = saved[i];
    return true;
}

// aarch64_read_signal expects mov x8,#139; svc #0 at pc, or the svc alone. Instructions
// are little-endian even on big-endian aarch64.
static bool aarch64_read_signal(const struct memory_reader *memory, uint64_t pc,
                                uint64_t sp, struct unwind_registers *out)
{
    static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
    enum { STACK_TO_REGISTERS = 312 }; // siginfo, then ucontext up to x0
    if (!code_is(memory, pc, code, sizeof(code)) &&
        !code_is(memory, pc - 4, code, sizeof(code)))
        return false;
    return arch_read_words(memory, sp + STACK_TO_REGISTERS, out->value, 33);
}

// s390x_read_signal expects svc 119 (sigreturn) or svc 173 (rt_sigreturn) at pc; the
// second has a siginfo and a ucontext on the stack.
static bool s390x_read_signal(const struct memory_reader *memory, uint64_t pc,
                              uint64_t sp, struct unwind_registers *out)
{
    static const uint8_t plain[] = { 0x0a, 0x77 };
    static const uint8_t with_info[] = { 0x0a, 0xad };
    enum {
        TO_POINTER = 160 + 8, // the plain frame has a pointer to the registers here
        TO_CONTEXT = 160 + 8 + 128 + 40, // return code, siginfo, start of the ucontext
        PC = 32,
    };
    uint64_t registers = sp + TO_CONTEXT;
    if (code_is(memory, pc, plain, sizeof(plain))) {
        if (memory_read_word(memory, sp + TO_POINTER, &registers) != CH_OK)
            return false;
    } else if (!code_is(memory, pc, with_info, sizeof(with_info))) {
        return false;
    }
    // The program status word is a mask and the program counter.
    return arch_read_words(memory, registers + WORD, &out->value[PC], 1) &&
           arch_read_words(memory, registers + 2 * WORD, out->value, 16);
}

// amd64_after_call looks for e8 disp32, or ff /2 in any of its lengths.
static bool amd64_after_call(const struct memory_reader *memory, uint64_t address)
{
    enum { LONGEST = 7, DIRECT = 5, OPCODE_DIRECT = 0xe8, OPCODE_INDIRECT = 0xff };
    uint8_t code[LONGEST];
    if (memory_read(memory, address - LONGEST, code, sizeof(code)) != CH_OK)
        return false;
    if (code[LONGEST - DIRECT] == OPCODE_DIRECT)
        return true;

    // The length of ff /2 follows from its ModRM byte: the mode, and whether a SIB byte
    // follows.
    for (unsigned length = 2; length <= LONGEST; length++) {
        if (code[LONGEST - length] != OPCODE_INDIRECT)
            continue;
        uint8_t modrm = code[LONGEST - length + 1];
        unsigned mode = modrm >> 6;
        unsigned size = 2;
        if (mode != 3 && (modrm & 7) == 4)
            size++;
        if (mode == 1)
            size++;
        if (mode == 2 || (mode == 0 && (modrm & 7) == 5))
            size += 4;
        if ((modrm >> 3 & 7) == 2 && size == length)
            return true;
    }
    return false;
}

// aarch64_after_call looks for bl, blr, and the forms of blr that authenticate the
// pointer.
static bool aarch64_after_call(const struct memory_reader *memory, uint64_t address)
{
    uint8_t code[4];
    if (address % 4 != 0 || memory_read(memory, address - 4, code, 4) != CH_OK)
        return false;
    struct cursor c = cursor_over(code, sizeof(code));
    uint32_t word = cursor_u32(&c);
    return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
           (word & 0xfefff800) == 0xd63f0800;
}

// s390x_after_call looks for brasl with six bytes, or basr with two.
static bool s390x_after_call(const struct memory_reader *memory, uint64_t address)
{
    uint8_t code[6];
    if (address % 2 != 0 || memory_read(memory, address - 6, code, 6) != CH_OK)
        return false;
    return (code[0] == 0xc0 && code[1] == 0xe5) || (code[4] == 0x0d && code[5] >= 0xe0);
}

// BITS has the bits of registers first to last set.
#define BITS(first, last) (UINT64_MAX >> (63 - (last)) & UINT64_MAX << (first))

const struct unwind_arch unwind_arch_amd64 = {
    .id = UNWIND_ARCH_AMD64,
    .elf_machine = ELF_X86_64,
    .name = "amd64",
    .word = WORD,
    .register_count = 17,
    .dwarf_count = 17,
    .pc = 16,
    .sp = UNWIND_AMD64_SP,
    .fp = UNWIND_AMD64_FP,
    .ra = UNWIND_AMD64_RA,
    .link = UNWIND_NO_LINK,
    .frame_record = 16,
    .kept = BITS(6, 7) | BITS(12, 16) | 1 << 3, // rbp, rsp, r12 to r15, rip, rbx
    .read_signal = amd64_read_signal,
    .after_call = amd64_after_call,
};

const struct unwind_arch unwind_arch_aarch64 = {
    .id = UNWIND_ARCH_AARCH64,
    .elf_machine = ELF_AARCH64,
    .name = "aarch64",
    .word = WORD,
    .register_count = 33,
    .dwarf_count = 32,
    .pc = 32,
    .sp = UNWIND_AARCH64_SP,
    .fp = UNWIND_AARCH64_FP,
    .ra = UNWIND_AARCH64_RA,
    .link = UNWIND_AARCH64_RA,
    .frame_record = 16,
    .signal_record = 128 + 4560, // its siginfo and ucontext
    .kept = BITS(19, 29) | BITS(31, 32),
    .read_signal = aarch64_read_signal,
    .after_call = aarch64_after_call,
};

const struct unwind_arch unwind_arch_s390x = {
    .id = UNWIND_ARCH_S390X,
    .elf_machine = ELF_S390,
    .name = "s390x",
    .word = WORD,
    .register_count = 33,
    .dwarf_count = 32,
    .pc = 32,
    .sp = UNWIND_S390X_SP,
    .fp = UNWIND_S390X_FP,
    .ra = UNWIND_S390X_RA,
    .link = UNWIND_S390X_RA,
    .stack_below = 160,
    .kept = BITS(6, 13) | BITS(15, 15) | BITS(24, 32), // f8 to f15 and the pc too
    .read_signal = s390x_read_signal,
    .after_call = s390x_after_call,
};

const struct unwind_arch unwind_arch_i386 = {
    .id = UNWIND_ARCH_I386,
    .elf_machine = ELF_386,
    .name = "i386",
    .word = NARROW_WORD,
    .register_count = 9,
    .dwarf_count = 9,
    .pc = 8,
    .sp = UNWIND_I386_SP,
    .fp = UNWIND_I386_FP,
    .ra = UNWIND_I386_RA,
    .link = UNWIND_NO_LINK,
    .frame_record = 8,
    .kept = BITS(3, 8), // ebx, esp, ebp, esi, edi, eip
    .read_signal = i386_read_signal,
    .after_call = amd64_after_call,
};

const struct unwind_arch *unwind_arch_native(void)
{
#if defined(__x86_64__)
    return &unwind_arch_amd64;
#else
    return &unwind_arch_aarch64;
#endif
}

const struct unwind_arch *unwind_arch_find(uint16_t elf_machine)
{
    static const struct unwind_arch *const all[] = { &unwind_arch_amd64,
                                                     &unwind_arch_aarch64,
                                                     &unwind_arch_s390x };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i]->elf_machine == elf_machine)
            return all[i];
    return NULL;
}

uint64_t unwind_arch_address(const struct unwind_arch *arch, uint64_t address)
{
    // The authentication code fills the bits between the address space's size and bit
    // 55, which selects user or kernel space. User space has 48 bits here: addresses of
    // 52 bits are only given to programs that ask for them.
    enum { ADDRESS_BITS = 48 };
    const uint64_t high = UINT64_MAX << ADDRESS_BITS;
    if (arch->id != UNWIND_ARCH_AARCH64)
        return address;
    return address & UINT64_C(1) << 55 ? address | high : address & ~high;
}

bool unwind_arch_signal_sp(const struct unwind_arch *arch,
                           const struct unwind_state *state, uint64_t *out)
{
    bool known = unwind_state_knows(state, arch->sp);
    if (!known && (arch->signal_record == 0 || !unwind_state_knows(state, arch->fp)))
        return false;
    *out = known ? state->registers.value[arch->sp]
                 : state->registers.value[arch->fp] - arch->signal_record;
    return true;
}
