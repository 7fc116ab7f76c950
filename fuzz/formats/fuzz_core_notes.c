// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/core_notes.h"
#include "formats/debug/elf.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint16_t machine = size % 2 != 0 ? ELF_AARCH64 : ELF_X86_64;
    struct cursor notes = cursor_over(bytes, size);
    struct core_note note;
    for (;;) {
        enum ch_status status = core_notes_next(&notes, machine, &note);
        struct core_mapping mapping;
        if (status == CH_END || status == CH_ERR_TRUNCATED)
            return 0;
        while (status == CH_OK && note.kind == CORE_NOTE_FILES &&
               core_files_next(&note.files, &mapping) != CH_END)
            ;
    }
}
