# SPDX-License-Identifier: Apache-2.0
#
# A build's tests below `crashhook ci`: what build servers get, and that the command's own
# result is kept.

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import uuid
import xml.etree.ElementTree as xml

import ci_schemas
import harness
from harness import Scene, crash_line, example

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "collector"))
import running  # noqa: E402
import sample_reports  # noqa: E402

MOST_SECONDS = 60


class Case(unittest.TestCase):
    def ci(self, script, name="t.sh", options=(), **variables):
        """Runs a script of the scene's folder below crashhook ci."""
        scene = Scene()
        self.addCleanup(scene.__exit__)
        self.scene = scene
        with open(os.path.join(scene.folder, name), "w", encoding="utf-8") as file:
            file.write("ulimit -c 0\n" + script)
        return scene.command("ci", *options, "--", "sh", name, timeout=MOST_SECONDS, **variables)

    def made(self, name):
        with open(os.path.join(self.scene.folder, "crashhook-ci", name), encoding="utf-8") as file:
            return file.read()

    def forms(self):
        """What each form has, once it is seen to be what its readers take."""
        junit = xml.fromstring(self.made("junit.xml"))
        sarif = json.loads(self.made("crashes.sarif"))
        gitlab = json.loads(self.made("gl-code-quality-report.json"))
        ci_schemas.check_junit(junit)
        ci_schemas.check_json(sarif, ci_schemas.SARIF)
        ci_schemas.check_json(gitlab, ci_schemas.GITLAB)
        rules = {rule["id"] for rule in sarif["runs"][0]["tool"]["driver"]["rules"]}
        self.assertEqual(rules, {found["ruleId"] for found in sarif["runs"][0]["results"]})
        return junit, sarif["runs"][0]["results"], gitlab


class Ci(Case):
    def test_each_bug_is_an_entry_of_every_form_with_its_line(self):
        null, uncaught = example("null_write"), example("uncaught")
        done = self.ci(f"sh -c '{null}; {uncaught}'\n{null}\nexit 3\n")
        self.assertEqual(done.returncode, 3)
        self.assertIn("2 crashes below 'sh'", done.stderr)
        self.assertIn("(2 times)", done.stderr)
        junit, sarif, gitlab = self.forms()
        source = os.path.join(harness.SOURCE, "examples", "shop_pricing.c")
        line = crash_line(source)
        suite = junit.find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("errors")), ("2", "2"))
        self.assertEqual(suite.find("testcase").get("classname"), "null_write")
        self.assertIn("write_line", suite.find("testcase/error").text)
        rules = json.loads(self.made("crashes.sarif"))["runs"][0]["tool"]["driver"]["rules"]
        self.assertEqual([rule["shortDescription"]["text"] for rule in rules],
                         ["null pointer", "uncaught exception"])
        place = sarif[0]["locations"][0]["physicalLocation"]
        self.assertTrue(place["artifactLocation"]["uri"].endswith("examples/shop_pricing.c"))
        self.assertEqual(place["region"]["startLine"], line)
        self.assertEqual(sarif[0]["occurrenceCount"], 2)
        self.assertNotIn("baselineState", sarif[0])  # nothing to compare with
        self.assertEqual(gitlab[0]["location"]["lines"]["begin"], line)
        self.assertEqual({finding["fingerprint"] for finding in gitlab},
                         {result["partialFingerprints"]["crashhook/v2"] for result in sarif})
        self.assertIn("write_line", self.made("summary.md"))

    def test_a_report_of_the_artefact_is_shown_anywhere(self):
        self.ci(example("null_write"))
        folder = os.path.join(self.scene.folder, "crashhook-ci", "reports")
        report = next(name for name in os.listdir(folder) if name.endswith(".json"))
        with Scene() as other:
            done = other.command("show", os.path.join(folder, report))
        self.assertEqual(done.returncode, 0)
        self.assertIn("write_line at shop_pricing.c", done.stdout)

    def test_options_say_where_forms_go_and_whose_annotations_are_printed(self):
        done = self.ci(example("divide"), options=("--junit", "j.xml", "--sarif=s.sarif",
                                                   "--annotations", "github"))
        for name, start in (("j.xml", "<?xml"), ("s.sarif", "{")):
            with open(os.path.join(self.scene.folder, name), encoding="utf-8") as file:
                self.assertTrue(file.read().startswith(start))
            self.assertNotIn({"j.xml": "junit.xml", "s.sarif": "crashes.sarif"}[name],
                             os.listdir(os.path.join(self.scene.folder, "crashhook-ci")))
        self.assertRegex(done.stdout, r"(?m)^::error file=.*divide\.c,line=\d+")
        done = self.ci(example("divide"), options=("--annotations", "gitlab"))
        ci_schemas.check_json(json.loads(done.stdout), ci_schemas.GITLAB)
        self.assertEqual(len(json.loads(done.stdout)), 1)
        done = self.ci(example("divide"), options=("--sarif", "-"))
        ci_schemas.check_json(json.loads(done.stdout), ci_schemas.SARIF)
        self.assertEqual(self.ci("exit 0\n", options=("--annotations", "x")).returncode, 2)
        done = self.ci("exit 0\n", options=("--junit", "no/j.xml"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write 'no/j.xml': No such file", done.stderr)

    def test_a_build_without_a_crash_passes(self):
        done = self.ci("exit 0\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        junit, sarif, gitlab = self.forms()
        self.assertEqual((junit.find("testsuite").get("errors"), sarif, gitlab), ("0", [], []))
        self.assertIsNone(junit.find("testsuite/testcase/error"))

    def test_a_crash_whose_line_is_not_known_is_a_finding_without_a_region(self):
        done = self.ci("echo 'int main(void) { return *(volatile int *)8; }' | "
                       "cc -x c -g0 -s -Wl,--build-id=none -o d - && ./d; exit 0\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, sarif, gitlab = self.forms()
        self.assertEqual(len(sarif), 1)
        for place in sarif[0]["locations"]:
            self.assertNotIn("region", place["physicalLocation"])
        self.assertEqual(gitlab[0]["location"]["lines"]["begin"], 1)

    def test_a_source_has_its_path_in_the_folder_of_the_build(self):
        done = self.ci("mkdir b 's d'\necho 'int main(void) { return *(volatile int *)8; }' >"
                       " 's d/x.c'\ncd b && cc -g '../s d/x.c' -o d && ./d\nexit 0\n",
                       GITHUB_ACTIONS="true")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, sarif, gitlab = self.forms()
        place = sarif[0]["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], "s%20d/x.c")
        self.assertEqual(gitlab[0]["location"]["path"], "s d/x.c")
        self.assertIn("::error file=s d/x.c,line=1,", done.stdout)

    def test_the_commands_signal_is_kept(self):
        self.assertEqual(self.ci("kill -TERM $$").returncode, -signal.SIGTERM)

    def test_a_command_that_is_not_there_is_127_as_in_a_shell(self):
        with Scene() as scene:
            done = scene.command("ci", "--", "/no/such/command")
        self.assertEqual(done.returncode, 127)

    def test_an_output_folder_that_cannot_be_made_is_one_line(self):
        with Scene() as scene:
            done = scene.command("ci", "--output", "/proc/x", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Acrashhook: cannot make '/proc/x/reports': .*\n\Z")

    def test_hostile_names_break_no_form(self):
        name = "a<b>&\"'\x01]]>%,:\n::error::x.sh"
        binary = "crash<&>\"%0A::warning::"
        done = self.ci(f"cp {example('divide')} ./'{binary}'\n./'{binary}'\nexit 0\n",
                       name=name, GITHUB_ACTIONS="true")
        self.assertEqual(done.returncode, 0)
        junit, sarif, gitlab = self.forms()
        self.assertEqual(junit.find("testsuite/testcase").get("classname"), binary)
        self.assertEqual((len(sarif), len(gitlab)), (1, 1))
        commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
        self.assertEqual(len(commands), 1)
        self.assertRegex(commands[0], r"\A::error file=[^:]*,line=\d+,title=Crash::")

    def test_githubs_summary_gets_what_crashed(self):
        with Scene() as other:
            summary = os.path.join(other.folder, "summary")
            self.ci(example("null_write"), GITHUB_STEP_SUMMARY=summary)
            with open(summary, encoding="utf-8") as file:
                self.assertTrue(file.read().startswith("# 1 crash\n"))

    def test_a_bug_that_the_collector_had_before_is_known(self):
        with Scene() as store:
            collector = subprocess.Popen(
                [harness.COLLECTOR, "--listen", "127.0.0.1:0", "--store",
                 f"sqlite:{store.folder}/store.db"], stderr=subprocess.PIPE, text=True)
            try:
                url = re.search(r"http://127\.0\.0\.1:\d+", collector.stderr.readline()).group()
                store.preload = ""
                store.command("run", "--", example("null_write"))
                self.assertEqual(store.command("upload", "--url", url).returncode, 0)
                # The store has the time of the report, which must be in an earlier second.
                harness.wait_for(lambda: self.began_later(store))
                known = self.ci(f"{example('null_write')}; true\n", options=["--gate"],
                                CRASHHOOK_URL=url)
                self.assertEqual(known.returncode, 0, known.stderr)
                self.ci(f"{example('null_write')}\n{example('uncaught')}\n", CRASHHOOK_URL=url)
            finally:
                collector.kill()
                collector.communicate()
        states = {result["ruleId"]: result["baselineState"] for result in self.forms()[1]}
        self.assertEqual(states, {"null-dereference": "unchanged", "uncaught-exception": "new"})

    def test_with_a_gate_a_new_bug_fails_a_build_that_succeeds(self):
        done = self.ci(f"{example('null_write')}; exit 0\n", options=["--gate"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("crashhook: 1 of the crashes is new, so the build fails\n", done.stderr)
        self.assertEqual(len(self.forms()[1]), 1)
        self.assertEqual(self.ci("exit 0\n", options=["--gate"]).returncode, 0)
        done = self.ci(f"{example('null_write')}; exit 7\n", options=["--gate"])
        self.assertEqual(done.returncode, 7)

    @staticmethod
    def began_later(scene):
        return max(os.stat(path).st_mtime for path in scene.report_paths()) + 1 < time.time()


class Artefact(Case):
    """One file with the reports of a build, and the sources and programs that they name."""

    BUILD = """mkdir b; cd b; cat > x.c <<'end'
int deref(int *p)
{
    return *p; // here
}
int main(int count, char **arguments) { return deref(count > 5 ? &count : 0); }
end
cc -g -O0 x.c -o x
"""

    def build(self, script, **variables):
        """The artefact of a build whose folder is gone."""
        done = self.ci(self.BUILD + script, options=("--artifact", "artefact"), **variables)
        shutil.rmtree(os.path.join(self.scene.folder, "b"))
        return done, os.path.join(self.scene.folder, "artefact")

    def show(self, *arguments, status=0):
        with Scene() as other:
            done = other.command("show", "--preset", "friendly", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_it_shows_a_report_with_its_source_lines_anywhere(self):
        _, path = self.build("./x")
        shown = self.show(path)
        self.assertIn("SIGSEGV in deref at x.c:3", shown.stdout)
        self.assertRegex(shown.stdout, r"(?m)^ *> +3 \|     return \*p; // here$")
        self.assertEqual(shown.stderr, "")

    def test_it_gives_names_to_a_report_that_has_none(self):
        _, path = self.build("./x", CRASHHOOK_SYMBOLIZE="off")
        with open(path, "rb") as file:
            self.assertNotIn(b'"deref"', file.read().split(b"\x7fELF")[0])
        self.assertIn("deref at x.c:3", self.show(path).stdout)

    def test_of_several_reports_the_newest_or_the_named_one_is_shown(self):
        _, path = self.build("./x; ./x; exit 0")
        shown = self.show(path)
        ids = shown.stderr.rstrip().rpartition(": ")[2].split()
        self.assertEqual(len(ids), 2, shown.stderr)
        self.assertIn(max(ids), shown.stdout)
        shown = self.show(path, min(ids))
        self.assertIn(min(ids), shown.stdout)
        self.assertEqual(shown.stderr, "")
        self.assertIn("there is no report beef in", self.show(path, "beef", status=1).stderr)
        self.show(os.path.join(self.scene.folder, "t.sh"), "beef", status=2)

    def test_a_program_larger_than_a_line_of_the_index_allows_is_whole(self):
        large = "head -c 34000000 /dev/zero > z; objcopy --add-section .z=z x\n"
        _, path = self.build(large + "./x", CRASHHOOK_SYMBOLIZE="off")
        self.assertGreater(os.path.getsize(path), 34000000)
        self.assertIn("deref at x.c:3", self.show(path).stdout)

    def test_one_that_is_cut_or_empty_is_refused_in_one_line(self):
        _, path = self.build("./x")
        whole = os.path.getsize(path)
        for size in (whole // 4, 100, 30, 21):
            os.truncate(path, size)
            done = self.show(path, status=1)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        done, path = self.build("exit 0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"there is no report in '{path}'", self.show(path, status=1).stderr)

    def test_one_that_cannot_be_written_fails_a_build_that_succeeds(self):
        done = self.ci("exit 0\n", options=("--artifact", "no/artefact"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Acrashhook: cannot write 'no/artefact': .*\n\Z")


class Gate(unittest.TestCase):
    """crashhook gate on what a collector has counted."""

    def gate(self, *arguments, url=None):
        with Scene() as scene:
            return scene.command("gate", "--url", url or self.collector.url, *arguments)

    def count(self, release, starts, crashes):
        day = int(time.time()) // 86400
        batch = {"id": str(uuid.uuid4()), "release": release, "host": "ams-worker-07",
                 "day": day, "starts": starts, "ends": starts - crashes}
        status, _, body = self.collector.request("POST", "/api/v1/starts",
                                                 json.dumps(batch).encode())
        self.assertEqual(status, 201, body)
        for number in range(crashes):
            report = sample_reports.null_write(number + 1, release=release,
                                           session=f"{number + 1:016x}", id=str(uuid.uuid4()))
            self.assertEqual(self.collector.post(json.dumps(report).encode())[0], 201)
        harness.wait_for(lambda: self.counted(release) == crashes)

    def counted(self, release):
        _, found = self.collector.json("GET", f"/api/v1/starts?release={release}")
        return sum(row["crashes"] for row in found["starts"])

    def test_a_release_passes_fails_or_has_too_few_starts(self):
        with running.Collector(harness.COLLECTOR) as self.collector:
            self.count("1.4", 2000, 3)
            limit = ("--release", "1.4", "--min-starts", "2000", "--max-crash-rate")
            for given, status, word in ((("0.2%",), 0, "passed"), (("0.002",), 0, "passed"),
                                        (("0.1%",), 1, "failed"),
                                        (("0.2%", "--min-starts", "2001"), 3, "not enough data")):
                done = self.gate(*limit, *given)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertTrue(done.stdout.startswith(f"{word}: release 1.4, 3 of 2000 starts "
                                                       "crashed: 0.150 % (95 % confidence: "
                                                       "0.051 % to 0.440 %)"), done.stdout)
            done = self.gate("--release", "none", "--max-crash-rate", "1%")
            self.assertEqual((done.returncode, done.stdout),
                             (3, "not enough data: release none, 0 of 0 starts crashed; "
                                 "limit 1.000 %, from 1 starts on\n"))

    def test_what_cannot_be_judged_is_neither_passed_nor_failed(self):
        nobody = "http://127.0.0.1:1"
        for arguments in (("--release", "1", "--max-crash-rate", "1%"),
                          ("--release", "1", "--max-crash-rate", "101%"),
                          ("--release", "1", "--max-crash-rate", "-1"),
                          ("--release", "1", "--max-crash-rate", "0x1"),
                          ("--release", "1"), ("--max-crash-rate", "1%"),
                          ("--release", "1", "--max-crash-rate", "1%", "--min-starts", "x")):
            done = self.gate(*arguments, url=nobody)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    harness.main()
