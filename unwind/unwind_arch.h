// SPDX-License-Identifier: Apache-2.0
//
// What the unwinder must know of a processor: which registers it has and what they
// mean.
//
// Everything in unwind/ takes its numbers from here, so that a core file of one
// machine unwinds on another. Registers stand in struct unwind_registers by their DWARF
// numbers; those without a small one (s390x's program counter) have a place behind the
// others. All addresses have 8 bytes; byte order belongs to the memory_reader.
#pragma once
#include <stdint.h>

#include "base/memory_reader.h"

enum unwind_arch_id { UNWIND_ARCH_AMD64, UNWIND_ARCH_AARCH64, UNWIND_ARCH_S390X };

struct unwind_registers;

// An unwind_signal_fn reads the registers that a signal interrupted, where code at pc
// returns from one: the stack pointer then points at what the kernel saved. False: this
// is no such code, or what it saved cannot be read.
typedef bool unwind_signal_fn(const struct memory_reader *memory, uint64_t pc,
                              uint64_t sp, struct unwind_registers *out);

// An unwind_call_fn is whether the instruction before address is a call.
typedef bool unwind_call_fn(const struct memory_reader *memory, uint64_t address);

struct unwind_arch {
    enum unwind_arch_id id;
    uint16_t elf_machine;
    const char *name;
    uint8_t register_count; // places in struct unwind_registers
    uint8_t dwarf_count;    // of which the first are DWARF's numbers
    uint8_t pc;
    uint8_t sp;
    uint8_t fp;
    uint8_t ra;           // DWARF's number of the return address
    uint8_t link;         // the register a call leaves it in; NO_LINK: on the stack
    uint8_t stack_below;  // CFA - stack pointer of the caller
    uint8_t frame_record; // 0: frame pointers make no chain
    uint64_t kept;        // bit n: a call leaves register n as it was, by convention
    unwind_signal_fn *read_signal;
    unwind_call_fn *after_call;
};

// In unwind_arch.link: a call pushes the return address.
enum { UNWIND_NO_LINK = 0xff };

extern const struct unwind_arch unwind_arch_amd64;
extern const struct unwind_arch unwind_arch_aarch64;
extern const struct unwind_arch unwind_arch_s390x;

// unwind_arch_native is the machine this code runs on.
const struct unwind_arch *unwind_arch_native(void);

// unwind_arch_find is the arch of an ELF machine number, or NULL.
const struct unwind_arch *unwind_arch_find(uint16_t elf_machine);

// unwind_arch_address takes the signature off a signed return address.
uint64_t unwind_arch_address(const struct unwind_arch *arch, uint64_t address);
