# SPDX-License-Identifier: Apache-2.0
#
# `crashhook cbf`, `images` and `sframe` as users and scripts meet them: the forms their
# data may have, their JSON, their exit codes, and what they say when they fail. That the
# codecs are right is the business of tests/formats.

import json
import os
import subprocess
import tempfile
import unittest

from cli_scene import CRASHHOOK, SOURCE

CASES = os.path.join(SOURCE, "tests", "cases", "formats")
TWO_FRAMES = "021a40100020f000"


def run(*arguments, stdin=b""):
    done = subprocess.run([CRASHHOOK, *arguments], input=stdin, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def run_json(*arguments, stdin=b""):
    code, out, err = run(*arguments, "--json", stdin=stdin)
    return code, json.loads(out), err


def encode(document, *options, command="cbf"):
    code, out, err = run(command, "encode", *options, stdin=json.dumps(document).encode())
    return code, out.strip(), err


class FormatCommands(unittest.TestCase):
    def test_data_may_be_hex_a_file_of_either_kind_or_stdin(self):
        expected = [{"kind": "pc", "address": "0x401000"},
                    {"kind": "ra", "address": "0x400ff0"}]
        with tempfile.TemporaryDirectory() as folder:
            text, raw = os.path.join(folder, "text"), os.path.join(folder, "raw")
            with open(text, "w", encoding="ascii") as file:
                file.write(TWO_FRAMES.upper()[:8] + "\n" + TWO_FRAMES[8:] + "\n")
            with open(raw, "wb") as file:
                file.write(bytes.fromhex(TWO_FRAMES))
            for argument, stdin in ((TWO_FRAMES, b""), (text, b""), (raw, b""),
                                    ("-", TWO_FRAMES.encode()),
                                    ("-", bytes.fromhex(TWO_FRAMES))):
                code, got, _ = run_json("cbf", "decode", argument, stdin=stdin)
                self.assertEqual(code, 0)
                self.assertEqual(got["frames"], expected)
                self.assertIs(got["complete"], True)
                self.assertEqual((got["version"], got["word_size"]), (0, 64))

    def test_hex_of_odd_length_is_a_file_name(self):
        code, out, err = run("cbf", "decode", "021")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("cannot read '021'", err)

    def test_data_that_stops_is_no_failure_but_not_complete(self):
        code, got, _ = run_json("cbf", "decode", TWO_FRAMES[:-2])
        self.assertEqual((code, got["complete"], len(got["frames"])), (0, False, 2))

    def test_frames_before_the_damage_are_printed(self):
        code, got, err = run_json("cbf", "decode", "0218559000")
        self.assertEqual((code, got["complete"]), (1, False))
        self.assertEqual(got["frames"], [{"kind": "pc", "address": "0x55"}])
        self.assertIn("offset 3", err)
        self.assertEqual(err.count("\n"), 1)

    def test_a_run_without_end_is_cut_at_a_million_frames(self):
        code, got, err = run_json("cbf", "decode", "0218558f100000000000000000")
        self.assertEqual((code, got["complete"], len(got["frames"])), (1, False, 1 << 20))
        self.assertIn("offset 3", err)
        code, got, _ = run_json("cbf", "decode", "0218558a0fffff00")
        self.assertEqual((code, got["complete"], len(got["frames"])), (0, True, 1 << 20))

    def test_raw_lists_instructions_and_expands_nothing(self):
        code, got, _ = run_json("cbf", "decode", "--raw", "0218558f100000000000000020ff4200")
        self.assertEqual(code, 0)
        rows = [(i["offset"], i["op"], i["bytes"], i.get("absolute"), i.get("value"))
                for i in got["instructions"]]
        self.assertEqual(rows, [
            (1, "pc", "1855", True, "0x55"),
            (3, "rep", "8f1000000000000000", None, 1 << 60),
            (12, "ra", "20ff", False, "0xffffffffffffffff"),
            (14, "omit", "42", None, 3),
            (15, "end", "00", None, None)])

    def test_encode_reads_what_decode_prints(self):
        _, document, _ = run_json("cbf", "decode", TWO_FRAMES)
        self.assertEqual(encode(document)[:2], (0, TWO_FRAMES))
        self.assertEqual(encode(document, "--swift")[:2], (0, "021240100020f0"))
        document["complete"] = False
        self.assertEqual(encode(document)[:2], (0, TWO_FRAMES[:-2]))

    def test_word_size_overrides_the_inputs(self):
        document = {"word_size": 32, "frames": [{"kind": "ra", "address": "0xffffffff"}]}
        self.assertEqual(encode(document)[1], "0128ff00")
        self.assertEqual(encode(document, "--word-size", "64")[1], "022c00ffffffff00")
        self.assertEqual(encode(document, "--word-size=16")[0], 1)
        self.assertEqual(encode(document, "--word-size", "8")[0], 2)

    def test_encode_says_which_frame_is_wrong(self):
        for frame in ({"kind": "omit", "count": -1}, {"kind": "pc"}, {"kind": "x"}, 7,
                      {"kind": "pc", "address": "0xg"}, {"address": "0x1"}):
            document = {"frames": [{"kind": "pc", "address": "0x1"}, frame]}
            code, out, err = encode(document)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("frame 1", err)

    def test_encode_drops_nothing_that_it_cannot_write(self):
        after = {"frames": [{"kind": "trunc"}, {"kind": "pc", "address": "0x1"}]}
        code, out, err = encode(after)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("frame 1", err)
        for command, document in (("cbf", {"version": 1, "frames": []}),
                                  ("images", {"version": 1, "images": []})):
            code, out, err = encode(document, command=command)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("version", err)

    def test_images_are_read_and_written_back(self):
        data = "02014c020810001002beef81042f612f7800082000100081a0022f7900"
        code, got, _ = run_json("images", "decode", data)
        self.assertEqual(code, 0)
        self.assertEqual(got["platform"], "L")
        self.assertEqual(got["images"][0], {
            "path": "/usr/lib/a/x", "build_id": "beef", "base": "0x1000",
            "end_of_text": "0x1010"})
        self.assertIsNone(got["images"][1]["build_id"])
        self.assertEqual(encode(got, command="images")[:2], (0, data))
        code, got, err = run_json("images", "decode", data[:30])
        self.assertEqual((code, got["complete"]), (1, False))
        self.assertIn("offset", err)

    def test_images_are_a_line_each_for_people(self):
        data = "02014c020810001002beef81042f612f7800082000100081a0022f7900"
        code, out, _ = run("images", "decode", data)
        lines = out.splitlines()
        self.assertEqual(code, 0)
        self.assertEqual(lines[-2].split(), ["0x000000001000-0x000000001010", "beef",
                                             "/usr/lib/a/x"])
        self.assertEqual(lines[-1].split()[1], "-")

    def test_what_steers_a_terminal_is_escaped(self):
        steering = "a\033]0;title\007\u009b2J\u202eb\n"
        document = {"version": 0, "platform": steering, "images": [
            {"path": f"/{steering}", "build_id": "beef", "base": "0x1000",
             "end_of_text": "0x1010"}]}
        code, data, _ = encode(document, command="images")
        self.assertEqual(code, 0)
        for options in ([], ["--json"]):
            code, out, _ = run("images", "decode", *options, data)
            self.assertEqual(code, 0)
            self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertIn("/a\\x1b]0;title\\x07", run("images", "decode", data)[1])

    def vectors(self, name):
        with open(os.path.join(SOURCE, "docs", "formats", "vectors", name + ".json"),
                  encoding="utf-8") as file:
            for vector in json.load(file)["vectors"]:
                with self.subTest(vector["name"]):
                    yield vector

    def test_backtraces_of_the_vectors_are_read_and_written(self):
        count = 0
        for vector in self.vectors("cbf"):
            count += 1
            code, got, _ = run_json("cbf", "decode", vector["data"])
            if "frames" not in vector:
                self.assertEqual((code, len(got["frames"])), (1, vector["kept"]))
                continue
            self.assertEqual((code, got["frames"]), (0, vector["frames"]))
            document = {"word_size": vector["word_size"], "frames": vector["frames"]}
            self.assertEqual(encode(document)[:2], (0, vector["data"]))
            self.assertEqual(encode(document, "--swift")[:2], (0, vector["swift"]))
            self.assertEqual(run_json("cbf", "decode", vector["swift"])[1]["frames"],
                             vector["frames"])
        self.assertGreater(count, 20)

    def test_image_maps_of_the_vectors_are_read_and_written(self):
        count = 0
        for vector in self.vectors("image-map"):
            count += 1
            code, got, _ = run_json("images", "decode", vector["data"])
            if "images" not in vector:
                self.assertEqual(code, 1)
                continue
            self.assertEqual((code, got["images"]), (0, vector["images"]))
            document = {key: vector[key] for key in ("word_size", "platform", "images")}
            self.assertEqual(encode(document, command="images")[:2], (0, vector["data"]))
        self.assertGreater(count, 7)

    def test_sframe_dump_is_a_table_for_people(self):
        library = os.path.join(CASES, "sframe", "x86_64-v3", "libpub.so")
        code, out, _ = run("sframe", "dump", library)
        table = out[out.index("0x740"):].split("\n\n")[0].splitlines()
        self.assertEqual(code, 0)
        self.assertEqual(table[0], "0x740, 96 bytes, in blocks of 16")
        self.assertEqual([line.split() for line in table[1:]],
                         [["offsets", "cfa", "ra", "fp"], ["0-11", "sp+8", "[cfa-8]", "same"],
                          ["11-16", "sp+16", "[cfa-8]", "same"]])

    def test_sframe_dump_has_the_members_that_scripts_read(self):
        library = os.path.join(CASES, "sframe", "x86_64-v3", "libpub.so")
        code, got, _ = run_json("sframe", "dump", library)
        self.assertEqual(code, 0)
        self.assertEqual(
            {key: got[key] for key in ("version", "arch", "flags", "fixed_fp_offset",
                                       "fixed_ra_offset", "auxhdr_len")},
            {"version": 3, "arch": "amd64", "flags": ["fde-sorted", "func-start-pcrel"],
             "fixed_fp_offset": 0, "fixed_ra_offset": -8, "auxhdr_len": 0})
        self.assertEqual(got["functions"][1], {
            "start": "0x740", "size": 96, "pc_type": "mask", "rep_size": 16,
            "signal": False, "flex": False, "pauth_key": "a",
            "rows": [{"start": 0, "end": 11, "cfa": "sp+8", "ra": "[cfa-8]", "fp": None,
                      "mangled": False},
                     {"start": 11, "end": 16, "cfa": "sp+16", "ra": "[cfa-8]",
                      "fp": None, "mangled": False}]})

    def test_sframe_lookup_prints_a_line_for_each_address(self):
        library = os.path.join(CASES, "sframe", "x86_64-v3", "libpub.so")
        code, out, _ = run("sframe", "lookup", "--json", library, "0x74c", "0x1")
        self.assertEqual(code, 0)
        found, missed = map(json.loads, out.splitlines())
        self.assertEqual(found["function"], {"start": "0x740", "size": 96})
        self.assertEqual(found["row"]["cfa"], "sp+16")
        self.assertEqual(missed, {"pc": "0x1", "function": None, "row": None})

    def test_sframe_functions_have_the_names_of_the_symbol_table(self):
        library = os.path.join(CASES, "sframe", "x86_64-v3", "libpub.so")
        self.assertIn("\n0x7c0 pub_leaf, 12 bytes\n", run("sframe", "dump", library)[1])
        functions = run_json("sframe", "dump", library)[1]["functions"]
        self.assertIn(("0x7c0", "pub_leaf"),
                      [(function["start"], function.get("name")) for function in functions])

    def test_sframe_lookup_takes_the_names_of_functions(self):
        library = os.path.join(CASES, "sframe", "x86_64-v3", "libpub.so")
        code, by_name, _ = run("sframe", "lookup", "--json", library, "pub_leaf")
        self.assertEqual(code, 0)
        self.assertEqual(by_name, run("sframe", "lookup", "--json", library, "0x7c0")[1])
        self.assertEqual(json.loads(by_name)["function"]["name"], "pub_leaf")
        self.assertEqual(run("sframe", "lookup", library, "no_such_function")[0], 2)

    def test_sframe_dump_goes_on_after_a_bad_function(self):
        library = os.path.join(CASES, "sframe", "x86_64-v3", "libpub.so")
        whole = run_json("sframe", "dump", library)[1]["functions"]
        with open(library, "rb") as file:
            bytes_of = bytearray(file.read())
        at = bytes_of.index(b"\xe2\xde\x03")
        tried = found = 0
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            for place in range(at + 28, at + 28 + 20 * 4): # the index of functions
                damaged = bytearray(bytes_of)
                damaged[place] = 0xff
                file.seek(0)
                file.write(damaged)
                file.flush()
                code, shown, err = run_json("sframe", "dump", file.name)
                bad = [f for f in shown["functions"] if "error" in f]
                tried += 1
                if not bad:
                    continue
                found += 1
                self.assertEqual((code, shown["complete"]), (1, False))
                self.assertEqual(len(shown["functions"]), len(whole))
                self.assertIn(f"{len(bad)} of {len(whole)} functions are bad", err)
        self.assertGreater(found, 3, tried)

    def test_files_without_frames_are_refused_in_one_line(self):
        for path in ("/proc/self/exe", "/etc/passwd", "/nonexistent"):
            for command in (("dump", path), ("lookup", path, "0x1")):
                code, out, err = run("sframe", *command)
                self.assertEqual((code, out), (1, ""))
                self.assertIn(path, err)
                self.assertEqual(err.count("\n"), 1)

    def test_wrong_usage_is_told_from_failure(self):
        for arguments in ((), ("cbf",), ("cbf", "decode"), ("cbf", "decode", "00", "00"),
                          ("cbf", "decode", "--nothing", "00"), ("nothing",),
                          ("sframe", "lookup", "x")):
            self.assertEqual(run(*arguments)[0], 2, arguments)
        for arguments in (("--help",), ("--version",), ("cbf", "--help"),
                          ("cbf", "decode", "--help"), ("sframe", "lookup", "--help")):
            code, out, err = run(*arguments)
            self.assertEqual((code, err), (0, ""), arguments)
            self.assertTrue(out)

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([CRASHHOOK, "cbf", "decode", TWO_FRAMES], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"stdout", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
