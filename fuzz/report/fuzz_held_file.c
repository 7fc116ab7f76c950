// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "report/file/held_file.h"

// What was held of a process: every thread's registers, and its memory around the
// registers.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct held_file file;
    uint64_t sum = 0;
    if (held_file_init(&file, bytes, size) != CH_OK)
        return 0;
    struct memory_reader reader = held_file_reader(&file);
    for (size_t i = 0; i < file.thread_count; i++) {
        const struct held_thread *thread = &file.threads[i];
        for (size_t j = 0; j < thread->arch->register_count; j++) {
            uint64_t word = 0;
            if (memory_read_word(&reader, thread->registers.value[j], &word) == CH_OK)
                sum += word;
        }
        for (size_t j = 0; j < thread->vector_count * HELD_VECTOR_BYTES; j++)
            sum += thread->vectors[j];
    }
    held_file_deinit(&file);
    return (int)(sum & 0); // the sum is there so that every byte is read
}
