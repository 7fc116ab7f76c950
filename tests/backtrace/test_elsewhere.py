# SPDX-License-Identifier: Apache-2.0
#
# test_elsewhere FOLDER: raw captures with musl's C library, whose functions have no unwind
# rules, and on AArch64 under qemu, where signal handlers return to a page that is in no
# image. Only the files that such a capture needs are compiled.

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDER = sys.argv.pop()
FILES = """tests/backtrace/elsewhere backtrace/capture_raw backtrace/code_return
    backtrace/image_list backtrace/local_code backtrace/local_images
    backtrace/local_thread backtrace/local_walk base/array base/cursor base/hex
    base/memory_reader base/status base/system/file formats/debug/cfi formats/debug/cfi_row
    formats/debug/elf formats/debug/sframe formats/debug/sframe_rows
    formats/interchange/cbf unwind/cfi_index unwind/dwarf_machine unwind/guess_step
    unwind/known_steps unwind/libunwind_none unwind/row_step unwind/rule_cache unwind/unwind
    unwind/unwind_arch""".split()
ARM, SYSROOT = "aarch64-linux-gnu-gcc", "/usr/aarch64-linux-gnu"
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")


class ElsewhereTest(unittest.TestCase):
    def check(self, compiler, flags, runner=()):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            program = os.path.join(folder, "elsewhere")
            subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-fno-optimize-sibling-calls", "-ffunction-sections",
                            "-Wl,--gc-sections", "-I", SOURCE, "-I",
                            os.path.join(SOURCE, "include"), *flags,
                            "-o", program, *(os.path.join(SOURCE, name + ".c") for name in FILES)],
                           check=True)
            done = subprocess.run([*runner, program], stdout=subprocess.PIPE, text=True,
                                  check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_functions_without_rules_are_left_by_their_code(self):
        # musl-gcc looks in no folder with the kernel's headers, and a static program that
        # it links has no table of rules.
        with tempfile.TemporaryDirectory(dir=FOLDER) as headers:
            for name in ("linux", "asm-generic", "x86_64-linux-gnu/asm"):
                if os.path.isdir("/usr/include/" + name):
                    os.symlink("/usr/include/" + name,
                               os.path.join(headers, os.path.basename(name)))
            self.check("musl-gcc", ["-static", "-isystem", headers])

    def test_a_handler_of_aarch64_is_left_under_qemu(self):
        if QEMU is None:
            self.skipTest("qemu-user is not installed")
        # The program's functions have neither rules nor frame records.
        self.check(ARM, ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                         "-fomit-frame-pointer"], (QEMU, "-L", SYSROOT))


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    count = len(program.result.skipped)
    all_skipped = count and count == program.result.testsRun
    sys.exit(77 if all_skipped else not program.result.wasSuccessful())
