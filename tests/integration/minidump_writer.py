# SPDX-License-Identifier: Apache-2.0
#
# Minidumps of real crashes, as Breakpad and Crashpad write them: made of the core that the
# kernel left, with the stacks and nothing else of the memory.

import struct

from core_surgery import NT_FILE, NT_PRSTATUS, NT_SIGINFO, PT_LOAD

# The registers of a context record, rax to r15 by machine number and rip, as they are
# numbered in user_regs_struct.
PLACES = [10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0, 16]
FLAGS, RSP = 18, 19
CONTEXT_BYTES, CONTEXT_FLAGS, CONTEXT_RAX = 1232, 68, 120
STACK_MAX = 32 << 10


class Writer:
    def __init__(self, core):
        self.core = core
        self.threads, self.files, self.signal = [], [], None
        for offset, kind in core.notes():
            name, size, _ = struct.unpack_from("<III", core.bytes, offset)
            data = bytes(core.bytes[offset + 12 + (name + 3) // 4 * 4:][:size])
            if kind == NT_PRSTATUS:
                self.threads.append((struct.unpack_from("<I", data, 32)[0],
                                     struct.unpack_from("<27Q", data, 112)))
            elif kind == NT_SIGINFO:
                self.signal = struct.unpack_from("<iii4xQ", data)
            elif kind == NT_FILE:
                self.files = list(self.read_files(data))

    @staticmethod
    def read_files(data):
        count, _ = struct.unpack_from("<QQ", data)
        names = data[16 + 24 * count:].split(b"\0")
        for i in range(count):
            start, end, offset = struct.unpack_from("<QQQ", data, 16 + 24 * i)
            yield start, end, offset, names[i].decode()

    def memory(self, address, most):
        """What the core has from address on."""
        for _, _, offset, vaddr, size, _ in self.core.segments(PT_LOAD):
            if vaddr <= address < vaddr + size:
                begin = offset + address - vaddr
                return bytes(self.core.bytes[begin:min(begin + most, offset + size)])
        return b""

    @staticmethod
    def build_id(path):
        with open(path, "rb") as file:
            data = file.read()
        at = data.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
        return data[at + 16:at + 36] if at >= 0 else b""

    def codeview(self, path, guid):
        """A module's identity: the build ID, or its first 16 bytes as a GUID."""
        build_id = self.build_id(path)
        if not guid:
            return struct.pack("<I", 0x4270454C) + build_id
        words = struct.unpack(">IHH8s", build_id[:16])
        return struct.pack("<IIHH8sI", 0x53445352, *words, 0) + path.encode() + b"\0"

    def write(self, path, guid=False, aligned=False):
        """guid: with Crashpad's identities; aligned: with padding after the counts."""
        blob = bytearray(32 + 12 * 5)
        pad = b"\0" * 4 if aligned else b""

        def put(data):
            blob.extend(b"\0" * (-len(blob) % 8))
            offset = len(blob)
            blob.extend(data)
            return len(data), offset

        threads, ranges = b"", b""
        for tid, registers in self.threads:
            context = bytearray(CONTEXT_BYTES)
            struct.pack_into("<I", context, CONTEXT_FLAGS, registers[FLAGS] & 0xFFFFFFFF)
            for i, place in enumerate(PLACES):
                struct.pack_into("<Q", context, CONTEXT_RAX + 8 * i, registers[place])
            stack = put(self.memory(registers[RSP] - 128, STACK_MAX))
            place = put(context)
            described = struct.pack("<QII", registers[RSP] - 128, *stack)
            threads += struct.pack("<IIIIQ", tid, 0, 0, 0, 0) + described + \
                struct.pack("<II", *place)
            ranges += described
            if tid == self.threads[0][0]:
                crashed = place
        modules, count = b"", 0
        for name in dict.fromkeys(name for _, _, _, name in self.files):
            parts = [entry for entry in self.files if entry[3] == name]
            if parts[0][2] != 0 or not self.build_id(name):
                continue
            encoded = name.encode("utf-16le")
            text = put(struct.pack("<I", len(encoded)) + encoded + b"\0\0")
            identity = put(self.codeview(name, guid))
            modules += struct.pack("<QIIII52xII8x16x", parts[0][0], parts[-1][1] - parts[0][0], 0,
                                   0, text[1], *identity)
            count += 1
        signal, _, code, address = self.signal
        streams = [
            (7, put(struct.pack("<HHHBBIIIII", 9, 0, 0, 1, 0, 6, 1, 0, 0x8201, 0) + bytes(28))),
            (3, put(struct.pack("<I", len(self.threads)) + pad + threads)),
            (4, put(struct.pack("<I", count) + pad + modules)),
            (5, put(struct.pack("<I", len(self.threads)) + pad + ranges)),
            (6, put(struct.pack("<IIIIQQII120xII", self.threads[0][0], 0, signal, code & 0xFFFFFFFF, 0,
                                address, 0, 0, *crashed)))]
        struct.pack_into("<IIIIII", blob, 0, 0x504D444D, 0xA793, len(streams), 32, 0, 1764000000)
        for i, (kind, place) in enumerate(streams):
            struct.pack_into("<III", blob, 32 + 12 * i, kind, *place)
        with open(path, "wb") as file:
            file.write(blob)
        return path
