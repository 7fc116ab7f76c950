#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_apart COLLECTOR: projects of a collector are apart. Two projects send different debug
# files and sources for one build ID, a third one sends none; each request of each is
# compared with what its project may read, for every place that files can be kept in. In
# PostgreSQL too where CRASHHOOK_TEST_POSTGRESQL names a server.

import contextlib
import ctypes
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import debug_program
import running
import s3
from running import wait_for
from test_sources import bundle

BINARY = None
BUILD = "00112233445566778899aabbccddeeff00112233"
NOBODYS = "ff" + BUILD[2:]
SOURCE = """int WORD(volatile int *p)
{
    return *p; /* WORD_text */
}
int main(int argc, char **argv) { (void)argv; volatile int x = argc; return WORD(&x); }
"""
# Words of one length: the programs differ in nothing else.
WORDS = {"shop": "alpha_in_shop", "bank": "bravo_in_bank", "": "omega_of_all_"}
EVERY = "name=%s scopes=send,read,triage,symbols,admin project=%s"
TOKENS = ["root name=root", "a " + EVERY % ("ann", "shop"), "b " + EVERY % ("bob", "bank"),
          "c " + EVERY % ("cat", "club")]
TOKEN_OF = {"shop": "a", "bank": "b", "club": "c", "": "root"}
REQUESTS = ("GET /api/v1/symbols/B", "HEAD /api/v1/symbols/B",
            "HEAD /api/v1/symbols/B?release=1", "GET /api/v1/sources/B",
            "HEAD /api/v1/sources/B", "GET /buildid/B/debuginfo", "GET /buildid/B/executable",
            "GET /buildid/B/source/src/program.c", "GET /api/v1/reports/R", "GET /reports/R",
            "GET /api/v1/reports/R?form=text", "GET /groups", "GET /api/v1/groups",
            "GET /groups/G", "GET /groups?q=frame%3AWORD", "GET /", "GET /alerts",
            "GET /api/v1/groups/G")
FILES = 8  # how many of them, the first ones, are of files


def make_program(folder, word, build=BUILD):
    """A program's path, debug file and content of its bundle."""
    source = SOURCE.replace("WORD", word)
    program = debug_program.compile_program(folder, "program", source)
    subprocess.run(["objcopy", "--update-section", f".note.gnu.build-id={note(folder, build)}",
                    program], check=True)
    os.makedirs(folder + "/" + word, exist_ok=True)
    kept = shutil.move(program, f"{folder}/{word}/{build[:4]}")
    subprocess.run(["objcopy", "--only-keep-debug", kept, kept + ".debug"], check=True)
    return kept + ".debug", bundle({folder + "/program.c": source.encode(),
                                    "/src/program.c": source.encode()})


def note(folder, build):
    """A file with the note of a build ID."""
    path = folder + "/note"
    with open(path, "wb") as file:
        file.write(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0" + bytes.fromhex(build))
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Apart(unittest.TestCase):
    PLACE = None  # of objects

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.files = {project: make_program(self.folder, word)
                      for project, word in WORDS.items()}
        symbols = subprocess.run(["nm", self.files[""][0]], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        self.offset = [int(line.split()[0], 16) for line in symbols.splitlines()
                       if line.endswith(" " + WORDS[""])][0] + 8
        self.number = 0
        extra = self.place()
        self.own = self.enterContext(running.Collector(
            BINARY, tokens=TOKENS, extra=extra, store=running.fresh_store()))
        self.own.token = None
        self.reports = {}

    def place(self):
        return []

    def ask(self, project, method, path, body=None):
        return self.own.request(method, path, body,
                                {"Authorization": "Bearer " + TOKEN_OF[project]})

    def put(self, project, content=None):
        """Sends the project's debug file and sources; the answers."""
        debug, sources = content or self.files[project]
        return [self.ask(project, "PUT", f"/api/v1/{kind}/{BUILD}?release=1", file)[0]
                for kind, file in (("symbols", read(debug)), ("sources", sources))]

    def crash(self, project, **image):
        """Sends a report of that build."""
        self.number += 1
        report = debug_program.nameless(self.number, "program", BUILD, [self.offset])
        report["images"][0].update(image)
        status, _ = self.own.post(report,
                                  {"Authorization": "Bearer " + TOKEN_OF[project]})
        self.assertEqual(status, 201)
        self.reports[project] = report["id"]
        return report["id"]

    def settle(self, project):
        """The function that the project's report shows once no names are pending."""
        def named():
            _, answer = self.own.json(
                "GET", "/api/v1/reports/" + self.reports[project], None,
                {"Authorization": "Bearer " + TOKEN_OF[project]})
            return answer if "names" not in answer and self.is_idle() else None
        seen = wait_for(named, "names are looked up")
        return seen["threads"][0]["backtrace"]["frames"][0].get("function")

    def is_idle(self):
        text = self.own.request("GET", "/metrics", None,
                                {"Authorization": "Bearer root"})[2].decode()
        return "\ncrashhook_naming_jobs 0\n" in text

    def group_of(self, project):
        return self.own.json("GET", "/api/v1/reports?limit=1", None, {
            "Authorization": "Bearer " + TOKEN_OF[project]})[1]["reports"][0]["group"]

    def answers(self, project, build=BUILD):
        """What the project is answered to each request."""
        found = []
        for line in REQUESTS:
            method, path = line.split()
            path = path.replace("B", build, 1) if "/B" in path else path
            path = path.replace("/R", "/" + self.reports[project]).replace(
                "/G", "/" + self.group_of(project)).replace(
                "WORD", WORDS.get(self.whose(project), "bravo_in_bank"))
            status, headers, body = self.ask(project, method, path)
            found.append((status, headers.get("Content-Length") if method == "HEAD" else "",
                          body.replace(build.encode(), b"B")))
        return found

    def whose(self, project):
        """Whose files the project may read; None: nobody's."""
        return project if project in self.sent else "" if "" in self.sent else None

    def check(self, *projects):
        """Each request of each project shows what is its own, and nothing of others."""
        for project in projects:
            whose = self.whose(project)
            self.assertEqual(self.settle(project), WORDS.get(whose))
            answers = self.answers(project)
            for line, (status, length, body) in zip(REQUESTS, answers):
                for other, word in WORDS.items():
                    if other != whose and not ("WORD" in line and whose is None):
                        self.assertNotIn(word.encode(), body, (project, line))
                if whose is None:
                    continue
                # The whole program was not sent.
                expected = 404 if "executable" in line else 200
                self.assertEqual(status, expected, (project, line))
                debug, sources = self.files[whose]
                if line in ("GET /api/v1/symbols/B", "GET /buildid/B/debuginfo"):
                    self.assertEqual(body, read(debug).replace(BUILD.encode(), b"B"))
                if line == "GET /api/v1/sources/B":
                    self.assertEqual(body, sources)
                if line == "GET /reports/R":
                    self.assertIn(WORDS[whose].encode() + b"_text", body)
            if whose is None:
                self.assertEqual(answers[:FILES], self.answers(project, NOBODYS)[:FILES],
                                 "it does not learn that others have files")

    def remove_cached(self):
        for path in glob.glob(self.own.path("symbols") + "/**/.build-id", recursive=True,
                              include_hidden=True):
            shutil.rmtree(path)

    def restart(self):
        self.own.stop()
        if self.PLACE is not None:
            self.remove_cached()
        self.own.start()

    def test_each_project_reads_its_own_files_else_everybodys(self):
        self.sent = {"shop", "bank"}
        self.crash("club")
        self.crash("bank")
        self.assertEqual(self.put("shop"), [201, 201])
        self.assertIsNone(self.settle("bank"), "the names of another project")
        self.assertEqual(self.put("bank"), [201, 201])
        self.crash("shop")
        self.check("shop", "bank", "club")
        self.restart()
        for project in ("club", "shop", "bank"):
            self.crash(project)
        self.check("shop", "bank", "club")
        self.assertEqual(self.put("bank"), [200, 200])
        # A client of all projects gets some file, until there is one for everybody.
        self.assertEqual(self.ask("", "GET", "/api/v1/symbols/" + BUILD)[0], 200)
        self.assertEqual(self.put(""), [201, 201])
        self.sent.add("")
        self.check("club", "shop", "bank")
        self.assertEqual(self.ask("", "GET", "/api/v1/symbols/" + BUILD)[2],
                         read(self.files[""][0]))
        # What a project removes is its own.
        status, _, body = self.ask("shop", "DELETE", "/api/v1/symbols?release=1")
        self.assertEqual((status, b'"removed":2' in body.replace(b" ", b"")), (200, True))
        self.crash("bank")
        self.crash("club")
        self.check("bank", "club")
        self.assertEqual(self.ask("shop", "GET", "/api/v1/symbols/" + BUILD)[2],
                         read(self.files[""][0]))

    def test_a_path_in_a_report_or_a_debug_file_leads_to_no_other_project(self):
        self.sent = {"bank"}
        self.assertEqual(self.put("bank"), [201, 201])
        # One without debug information, so that it is looked for elsewhere.
        bare = self.folder + "/bare"
        subprocess.run(["strip", "--strip-all", "-o", bare, self.files["shop"][0][:-6]],
                       check=True)
        self.assertEqual(self.put("shop", (bare, self.files["shop"][1])), [201, 201])
        inside = f"/projects/bank/.build-id/{BUILD[:2]}/{BUILD[2:]}.debug"
        for path in (self.own.path("symbols") + inside, "/../../.." + inside,
                     "/.." + inside.replace("/projects", ""), inside):
            self.crash("shop", path=path, name=path)
            self.assertIsNone(self.settle("shop"), path)

    @unittest.skipIf(shutil.which("dwz") is None, "no dwz is installed")
    def test_a_debug_file_is_completed_by_none_of_another_project(self):
        self.sent = set()
        shared, alternate = self.folder + "/shared", self.folder + "/alternate"
        for number in "12":
            shutil.copy(self.files["shop"][0], shared + number)
        subprocess.run(["dwz", "-m", alternate, "-M",
                        self.own.path("symbols") + "/projects/bank/.build-id/aa/bb.debug",
                        shared + "1", shared + "2"], check=True, stderr=subprocess.DEVNULL)
        kept = self.own.path("symbols") + "/projects/bank/.build-id/aa"
        os.makedirs(kept)
        shutil.copy(alternate, kept + "/bb.debug")
        self.assertEqual(self.put("shop", (shared + "1", self.files["shop"][1])), [201, 201])
        watch, opened = ctypes.CDLL(None).inotify_init1(os.O_NONBLOCK), 0x20
        self.addCleanup(os.close, watch)
        ctypes.CDLL(None).inotify_add_watch(watch, (kept + "/bb.debug").encode(), opened)
        self.crash("shop")
        self.settle("shop")
        with self.assertRaises(BlockingIOError, msg="it was opened"):
            os.read(watch, 4096)

    def to_layout_before(self):
        """Makes the store one that the release before wrote; the collector is stopped."""
        name = WORDS["shop"]
        # Others' reports were named from the project's file.
        text = (f"UPDATE place_names SET build = '{BUILD}'; UPDATE groups SET title ="
                f" 'bad pointer in {name}', stack = '{name}'; UPDATE alerts SET title ="
                f" '{name}'; INSERT INTO history(group_id, time, kind, other, detail, count)"
                f" SELECT fingerprint, 1, 'moved', 'x', '{name}', 1 FROM groups;"
                "ALTER TABLE place_names RENAME TO places;"
                "UPDATE symbols SET build = replace(build, project || '/', '');"
                "UPDATE symbol_files SET key = replace(key, project || '/', '');"
                + ("ALTER TRIGGER member_removed ON facets RENAME TO machine_removed; ALTER"
                   " FUNCTION crashhook_member_removed RENAME TO crashhook_machine_removed;"
                   if self.own.store
                   else "DROP TRIGGER member_added; DROP TRIGGER member_removed;"
                   "DROP TRIGGER group_removed;") +
                "DROP TABLE group_members; DROP TABLE user_salt; DROP TABLE program_days;"
                "DROP TABLE receivers; DROP TABLE set_aside;"
                "DROP TABLE release_places; DROP INDEX groups_by_program;"
                "DROP INDEX groups_by_release; DROP INDEX reports_unkeyed;"
                "ALTER TABLE groups DROP COLUMN program;"
                "ALTER TABLE groups DROP COLUMN machine_step;"
                "ALTER TABLE groups DROP COLUMN users;"
                "ALTER TABLE groups DROP COLUMN user_step;"
                "ALTER TABLE reports DROP COLUMN keyed;"
                "DROP TABLE saved_searches; DROP TABLE tokens; DROP TABLE body_prefixes;"
                "DROP TABLE tickets; DROP TABLE commits; DROP TABLE commit_files; DROP TABLE code_owners;"
                "DROP INDEX bodies_of_prefixes; ALTER TABLE bodies DROP COLUMN prefix;")
        if self.own.store is None:
            with contextlib.closing(sqlite3.connect(self.own.path("store.db"))) as database:
                database.executescript(text + "PRAGMA user_version = 18;")
        else:
            text = ("ALTER TABLE symbols DROP CONSTRAINT symbols_check;"
                    "ALTER TABLE symbol_files DROP CONSTRAINT symbol_files_check;" + text +
                    "UPDATE crashhook_layout SET version = 18, oldest = 13;")
            subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", self.own.store, "-c", text],
                           check=True, stdout=subprocess.DEVNULL)
        symbols = self.own.path("symbols")
        shutil.copytree(symbols + "/projects/shop", symbols, dirs_exist_ok=True)
        shutil.rmtree(symbols + "/projects")
        os.unlink(symbols + "/.apart")

    def test_files_of_an_older_store_go_to_the_project_that_sent_them(self):
        self.sent = {"shop"}
        self.assertEqual(self.put("shop"), [201, 201])
        for project in ("shop", "bank", "club"):
            self.crash(project)
            self.settle(project)
        self.own.stop()
        self.to_layout_before()
        self.own.start()
        self.check("shop", "bank", "club")
        inside = f"/.build-id/{BUILD[:2]}/{BUILD[2:]}"
        for ending in (".debug", ".sources"):
            self.assertFalse(os.path.exists(self.own.path("symbols") + inside + ending))
        self.restart()
        self.assertEqual(self.put("bank"), [201, 201])
        self.sent.add("bank")
        self.crash("bank")
        self.check("shop", "bank", "club")


class InTheDatabase(Apart):
    PLACE = "store"
    test_a_path_in_a_report_or_a_debug_file_leads_to_no_other_project = None
    test_a_debug_file_is_completed_by_none_of_another_project = None

    def place(self):
        return ["--symbol-store", self.PLACE]


# With PostgreSQL two kinds of places are run, all of them with CRASHHOOK_FULL=1.
FEWER = (os.environ.get("CRASHHOOK_TEST_POSTGRESQL") is not None and
         os.environ.get("CRASHHOOK_FULL") != "1")


@unittest.skipIf(FEWER, "CRASHHOOK_FULL=1 is not set")
class InAFolder(InTheDatabase):
    PLACE = ""

    def place(self):
        return ["--symbol-store", self.folder + "/objects"]

    def test_one_content_of_two_projects_is_two_objects(self):
        self.assertEqual(self.put("shop"), [201, 201])
        self.assertEqual(self.put("bank", self.files["shop"]), [201, 201])
        self.assertEqual(len(glob.glob(self.folder + "/objects/symbols/*/*/*.zst")), 4)


@unittest.skipIf(FEWER, "CRASHHOOK_FULL=1 is not set")
@unittest.skipUnless(s3.installed(), "no Swift is installed (package python3-swift)")
class InABucket(InTheDatabase):
    def place(self):
        os.environ.update(AWS_ACCESS_KEY_ID=s3.KEY, AWS_SECRET_ACCESS_KEY=s3.SECRET)
        server = self.enterContext(s3.Swift())
        return ["--symbol-store", f"s3://{s3.BUCKET}/apart?{server.settings()}"]


class OneProject(unittest.TestCase):
    def test_a_name_that_would_be_another_folder_is_refused(self):
        for name in ("..", ".x"):
            own = running.Collector(BINARY, tokens=["a project=" + name])
            with self.assertRaisesRegex(RuntimeError, "does not begin with a dot"), own:
                pass


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
