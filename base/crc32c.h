// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli), as iSCSI has it (RFC 3720, section 12.1): the checksum that
// processors have an instruction for. Without one, tables are used.
#pragma once
#include <stddef.h>
#include <stdint.h>

// crc32c is the checksum of size bytes.
uint32_t crc32c(const void *bytes, size_t size);

// crc32c_without_instruction is the same, computed with tables: for the tests.
uint32_t crc32c_without_instruction(const void *bytes, size_t size);
