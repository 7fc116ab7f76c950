# SPDX-License-Identifier: Apache-2.0
#
# Changes made to real core files, so that they look as other kernels, tools and
# accidents leave them.

import struct

PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_PRFPREG, NT_FILE, NT_SIGINFO = 1, 2, 0x46494C45, 0x53494749
HEADER = struct.Struct("<IIQQQQQQ")  # a program header of 64 bits


class Core:
    """A core's bytes with its program headers taken apart."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        self.table, = struct.unpack_from("<Q", self.bytes, 32)
        self.count, = struct.unpack_from("<H", self.bytes, 56)

    def segments(self, kind):
        """(index, flags, offset, vaddr, file size, memory size) of each."""
        for index in range(self.count):
            header = HEADER.unpack_from(self.bytes, self.table + index * HEADER.size)
            if header[0] == kind:
                yield index, header[1], header[2], header[3], header[5], header[6]

    def notes(self):
        """(offset of the note's header, type) of each note."""
        _, _, offset, _, size, _ = next(self.segments(PT_NOTE))
        end = offset + size
        while offset + 12 <= end:
            name, description, kind = struct.unpack_from("<III", self.bytes, offset)
            yield offset, kind
            offset += 12 + (name + 3) // 4 * 4 + (description + 3) // 4 * 4

    def hide_notes(self, hidden):
        """Gives the notes of these types one that nobody knows."""
        for offset, kind in list(self.notes()):
            if kind in hidden:
                struct.pack_into("<I", self.bytes, offset + 8, 0x7F000000)
        return self

    def leave_out(self, chosen):
        """Makes segments look as if the kernel had not dumped them."""
        for index, flags, _, vaddr, size, _ in list(self.segments(PT_LOAD)):
            if size != 0 and chosen(flags, vaddr):
                struct.pack_into("<Q", self.bytes, self.table + index * HEADER.size + 32, 0)
        return self

    def add_note(self, kind, description):
        """Appends a note of the last thread."""
        for index, _, offset, _, size, _ in self.segments(PT_NOTE):
            notes = bytes(self.bytes[offset:offset + size])
            notes += struct.pack("<III8s", 5, len(description), kind, b"CORE") + description
            self.bytes += bytes(-len(self.bytes) % 8)
            header = self.table + index * HEADER.size
            struct.pack_into("<Q", self.bytes, header + 8, len(self.bytes))
            struct.pack_into("<Q", self.bytes, header + 32, len(notes))
            self.bytes += notes
        return self

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes)
        return path
