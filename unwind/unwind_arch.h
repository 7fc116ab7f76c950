// SPDX-License-Identifier: Apache-2.0
//
// What the unwinder has to know of an architecture: its registers and their roles.
//
// Everything in unwind/ takes its numbers from here, so that a core file of one
// architecture can be unwound on another. Registers are indexed in struct
// unwind_registers by their DWARF numbers; one without a small number (s390x's program
// counter) has an index after the others. Byte order, and whether addresses have 4
// bytes or 8, belong to the memory_reader.
#pragma once
#include <stdint.h>

#include "base/memory_reader.h"

enum unwind_arch_id {
    UNWIND_ARCH_AMD64,
    UNWIND_ARCH_AARCH64,
    UNWIND_ARCH_S390X,
    UNWIND_ARCH_I386,
};

struct unwind_registers;
struct unwind_state;

// An unwind_signal_fn reads the registers that a signal interrupted, if the code at pc
// returns from one: the stack pointer then points at what the kernel saved. False:
// there is no such code at pc, or the saved registers cannot be read.
typedef bool unwind_signal_fn(const struct memory_reader *memory, uint64_t pc,
                              uint64_t sp, struct unwind_registers *out);

// An unwind_call_fn says whether the instruction before address is a call.
typedef bool unwind_call_fn(const struct memory_reader *memory, uint64_t address);

struct unwind_arch {
    enum unwind_arch_id id;
    uint16_t elf_machine;
    const char *name;
    uint8_t word;           // bytes of an address
    uint8_t register_count; // entries used in struct unwind_registers
    uint8_t dwarf_count;    // the first of them, which have DWARF numbers
    uint8_t pc;
    uint8_t sp;
    uint8_t fp;
    uint8_t ra;           // DWARF's number of the return address column
    uint8_t link;         // the link register; NO_LINK: calls push
    uint8_t stack_below;  // CFA - the caller's stack pointer
    uint8_t frame_record; // its size; 0: frame pointers form no chain
    // From the stack pointer at a signal's return to the frame record that the kernel
    // puts above what it saves, where that fits the space that is always there; 0:
    // none.
    uint16_t signal_record;
    uint64_t kept; // bit n: register n is callee-saved
    unwind_signal_fn *read_signal;
    unwind_call_fn *after_call;
};

// UNWIND_NO_LINK as unwind_arch.link: a call pushes the return address.
enum { UNWIND_NO_LINK = 0xff };

extern const struct unwind_arch unwind_arch_amd64;
extern const struct unwind_arch unwind_arch_aarch64;
extern const struct unwind_arch unwind_arch_s390x;

// unwind_arch_i386 is for the 32-bit programs of an x86-64 machine, whose memory_reader
// is narrow. unwind_arch_find does not give it: core files of such are not read.
extern const struct unwind_arch unwind_arch_i386;

// unwind_arch_native is the architecture this code runs on.
const struct unwind_arch *unwind_arch_native(void);

// unwind_arch_find gives the architecture of an ELF machine number, or NULL.
const struct unwind_arch *unwind_arch_find(uint16_t elf_machine);

// unwind_arch_address removes the pointer authentication code from a return address.
uint64_t unwind_arch_address(const struct unwind_arch *arch, uint64_t address);

// unwind_arch_signal_sp gives the stack pointer at a signal's return, by the frame
// record above where it is not known itself. False: there is none.
bool unwind_arch_signal_sp(const struct unwind_arch *arch,
                           const struct unwind_state *state, uint64_t *out);
