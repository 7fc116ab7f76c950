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

    def read(self, vaddr, size):
        """Bytes of memory."""
        for _, _, offset, start, stored, _ in self.segments(PT_LOAD):
            if start <= vaddr and vaddr + size <= start + stored:
                return bytes(self.bytes[offset + vaddr - start:][:size])
        raise KeyError(hex(vaddr))

    def add_note(self, kind, description, name=b"LINUX", threads=1):
        """Gives the first threads another note after their registers; one: the thread that a
        signal stopped."""
        index, flags, offset, _, size, _ = next(self.segments(PT_NOTE))
        added = struct.pack("<III8s", len(name) + 1, len(description), kind, name) + description
        notes, many = b"", threads > 1
        starts = [at for at, _ in self.notes()] + [offset + size]
        stopped = [at for at, of in self.notes() if of == NT_PRSTATUS and self._signal_of(at)]
        for number, (at, of) in enumerate(self.notes()):
            notes += self.bytes[at:starts[number + 1]]
            if of == NT_PRSTATUS and threads > 0 and (many or at in stopped or not stopped):
                notes += added
                threads -= 1
        self._replace(index, PT_NOTE, flags, 0, notes)
        return self

    def _signal_of(self, note):
        return struct.unpack_from("<H", self.bytes, note + 20 + 12)[0]

    def add_segment(self, vaddr, contents, kind=PT_LOAD, size=None):
        """Adds memory that can be read, or what else is of `size` bytes of memory there."""
        headers = self.bytes[self.table:self.table + self.count * HEADER.size]
        self.table = len(self.bytes)
        self.bytes += headers + bytes(HEADER.size)
        self.count += 1
        struct.pack_into("<Q", self.bytes, 32, self.table)
        struct.pack_into("<H", self.bytes, 56, self.count)
        self._replace(self.count - 1, kind, 4, vaddr, contents, size)
        return self

    def _replace(self, index, kind, flags, vaddr, contents, size=None):
        HEADER.pack_into(self.bytes, self.table + index * HEADER.size, kind, flags,
                         len(self.bytes), vaddr, 0, len(contents), size or len(contents), 1)
        self.bytes += contents

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes)
        return path
