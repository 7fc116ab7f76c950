// SPDX-License-Identifier: Apache-2.0
//
// Minidebuginfo: a symbol table that some distributions leave in stripped files, as an
// xz-compressed ELF file in the section .gnu_debugdata.
#pragma once
#include "base/status.h"
#include "symbolizer/files/debug_elf.h"

// MINIDEBUG_MAX limits the decompressed size of a section.
enum { MINIDEBUG_MAX = 64 << 20 };

// minidebug_open opens the ELF file inside image. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status minidebug_open(struct debug_elf *out,
                                         const struct debug_elf *image);
