# SPDX-License-Identifier: Apache-2.0
#
# How the installed programs start: what the loader is told to load, where it looks, and which
# protections against exploits the programs and libraries carry.

import os
import re
import subprocess
import tempfile
import unittest

from cli_scene import BUILD, SOURCE

STARTED = ["bin/crashhook", "bin/crashhook-collector", "lib/libcrashhook.so",
           "lib/libcrashhook-backtrace.so"]
AGENT = "libexec/crashhook/crashhook-agent" # static, and not position-independent
LINKED = ["lib/libcrashhook.so", "lib/libcrashhook.a", "lib/libcrashhook-flight.a"]
HARDENING = os.environ["HARDENING"].split() # the flags that the compiler knows
MARKS = {"-fcf-protection=full": "IBT, SHSTK", "-mbranch-protection=standard": "BTI, PAC"}


def dynamic(path, kind):
    printed = subprocess.run(["readelf", "-dW", os.path.join(BUILD, path)], check=True,
                             capture_output=True, text=True).stdout
    return re.findall(rf"\({kind}\).*\[(.*)\]", printed)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names(path, *options):
    return output_of("nm", *options, os.path.join(BUILD, path))


class Start(unittest.TestCase):
    def test_no_library_is_looked_for_in_the_current_folder(self):
        for path in STARTED:
            for search in dynamic(path, "RUNPATH") + dynamic(path, "RPATH"):
                for folder in search.split(":"):
                    self.assertRegex(folder, r"^(\$ORIGIN|/)", path)

    def test_the_command_starts_without_what_only_uploads_need(self):
        needed = dynamic("bin/crashhook", "NEEDED")
        self.assertIn("libc.so.6", needed)
        self.assertEqual([n for n in needed if "curl" in n or "ssl" in n], [])

    @unittest.skipUnless(HARDENING, "this build is not hardened")
    def test_every_program_is_position_independent_and_relocated_before_it_runs(self):
        for path in STARTED:
            shown = output_of("readelf", "-hldW", os.path.join(BUILD, path))
            self.assertRegex(shown, r"Type: +DYN", path)
            self.assertIn("GNU_RELRO", shown, path)
            self.assertRegex(shown, r"\(FLAGS_1\).*NOW", path)

    @unittest.skipUnless(HARDENING, "this build is not hardened")
    def test_every_program_checks_its_stack_and_its_buffers(self):
        for path in STARTED:
            self.assertIn("__stack_chk_fail", names(path, "-D"), path)
        code = output_of("objdump", "-d", "--no-show-raw-insn", os.path.join(BUILD, AGENT))
        # An archive of the C library's has some, too.
        self.assertGreater(len(re.findall(r"call.*<__stack_chk_fail", code)), 300)
        if "-D_FORTIFY_SOURCE=3" in HARDENING:
            for path in STARTED[:2]:
                self.assertRegex(names(path, "-D"), r"__\w+_chk@", path)

    def test_a_program_of_musl_has_what_the_library_needs(self):
        for path in ("lib/libcrashhook.so", "lib/libcrashhook-flight.so"):
            self.assertNotRegex(names(path, "-D"), r"U __\w+_chk\b", path)

    @unittest.skipUnless(HARDENING, "this build is not hardened")
    def test_a_program_that_links_a_library_of_ours_keeps_its_shadow_stack(self):
        for marks in [MARKS[flag] for flag in HARDENING if flag in MARKS]:
            for path in LINKED:
                self.assertIn(marks, output_of("readelf", "-nW", os.path.join(BUILD, path)),
                              path)

    @unittest.skipUnless("-fcf-protection=full" in HARDENING, "no such flag, or not hardened")
    def test_the_builders_own_flags_prevail(self):
        with tempfile.TemporaryDirectory() as folder:
            output_of("cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja",
                      "-DCRASHHOOK_ONLY_HANDLER=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                      "-DCMAKE_C_FLAGS=-fcf-protection=none -fno-stack-protector "
                      "-D_FORTIFY_SOURCE=1")
            built = output_of("cmake", "--build", folder, "--target", "crashhook_static",
                              "crashhook_shared")
            self.assertNotIn("redefined", built)
            for name in ("libcrashhook.so", "libcrashhook.a"):
                path = os.path.join(folder, "lib", name)
                self.assertNotIn("IBT", output_of("readelf", "-nW", path), name)
                self.assertNotIn("__stack_chk_fail", names(path), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
