// SPDX-License-Identifier: Apache-2.0
//
// The property note of assembler files. The linker marks a program or library as
// compatible with shadow stacks and indirect branch tracking (x86-64), or with landing
// pads and signed return addresses (AArch64), only if each of its objects is: one file
// without the note switches the protection off in every program that links the library.
// The compiler writes the note for C files; here it follows the same flags. LANDING
// starts each function.
#pragma once

#if defined(__CET__) // bit 0: branch tracking, bit 1: shadow stack, as in the note
#define MARKS_KIND 0xc0000002 // GNU_PROPERTY_X86_FEATURE_1_AND
#define MARKS __CET__
#define LANDING endbr64
#elif defined(__aarch64__) && defined(__ARM_FEATURE_BTI_DEFAULT)
#define MARKS_KIND 0xc0000000 // GNU_PROPERTY_AARCH64_FEATURE_1_AND
#define LANDING hint 34       // bti c
#if defined(__ARM_FEATURE_PAC_DEFAULT)
#define MARKS 3
#else
#define MARKS 1
#endif
#else
#define LANDING
#endif

// clang-format off
#if defined(MARKS)
    .section .note.gnu.property, "a", %note
    .p2align 3
    .long 4, 16, 5 // sizes of the name and of the property; NT_GNU_PROPERTY_TYPE_0
    .asciz "GNU"
    .long MARKS_KIND, 4, MARKS, 0
#endif
