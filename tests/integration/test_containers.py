# SPDX-License-Identifier: Apache-2.0
#
# crashhook in a container, as far as one can be made without an engine: PID and mount
# namespaces, a read-only root in memory, a user without capabilities, the seccomp filters of
# Docker and containerd (container_profile.py), one writable volume.

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import container_profile
import filters
import harness
from harness import BUILD, SOURCE, crashed_thread, expanded, names_of, wait_for
from place import needs_namespaces, needs_root

sys.path.insert(0, os.path.join(SOURCE, "tests", "upload"))
from fault_server import FaultServer  # noqa: E402

PRODUCT = ("bin/crashhook", "bin/crashhook-collector", "lib/libcrashhook.so.1",
           "libexec/crashhook/crashhook-agent")
ORDERS = "apple 120\npear\n"
USER = 10001

# The root is a tmpfs with the machine's programs and libraries, and /data the volume.
ENTER = r"""
set -e
volume=$1 root=$2; shift 2
mount -t tmpfs -o mode=755 none "$root"
for place in usr bin lib lib64 etc dev opt; do
    [ -e "/$place" ] || continue
    mkdir "$root/$place"
    mount --rbind "/$place" "$root/$place"
    [ "$place" = dev ] || mount -o remount,bind,ro "$root/$place"
done
mkdir "$root/proc" "$root/data" "$root/run" "$root/tmp"
touch "$root/.dockerenv"
mount -t proc none "$root/proc"
[ ! -d "$root/dev/shm" ] || mount -t tmpfs -o mode=1777 none "$root/dev/shm"
mount --bind "$volume" "$root/data"
mount -o remount,ro "$root"
exec chroot "$root" setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all \
    /usr/bin/python3 -I /data/container_profile.py /data/filter "$@"
"""


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Not below /tmp or a home: the user of the container has to get there.
        cls.folder = tempfile.mkdtemp(prefix="crashhook-containers.", dir="/var/tmp")
        os.chmod(cls.folder, 0o755)
        cls.product = os.path.join(cls.folder, "product")
        for part in PRODUCT:
            copy = os.path.join(cls.product, part)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(os.path.join(BUILD, part), copy)
        subprocess.run(["cc", "-g", "-O1", "-o", os.path.join(cls.product, "service"),
                        os.path.join(SOURCE, "examples", "adopting", "service.c")], check=True)
        os.mkdir(os.path.join(cls.folder, "root"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def volume(self, profile):
        """A volume of the container's user, with the product and the engine's filter."""
        path = tempfile.mkdtemp(prefix="volume.", dir=self.folder)
        shutil.copytree(self.product, path, dirs_exist_ok=True)
        shutil.copy(container_profile.__file__, path)
        with open(os.path.join(path, "filter"), "wb") as file:
            file.write(container_profile.filter_of(profile, filters.call_numbers()))
        os.chown(path, USER, USER)
        return path

    def command(self, volume, *words):
        return ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                "--kill-child", "sh", "-c", ENTER, "sh", volume,
                os.path.join(self.folder, "root"), *words]

    def environment(self, **variables):
        return {"PATH": "/data/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/data",
                "CRASHHOOK_SPOOL": "/data/spool", "LANG": "C.UTF-8", **variables}

    def run_in(self, volume, *words, text="", **variables):
        return subprocess.run(self.command(volume, *words), input=text, text=True, check=False,
                              timeout=60, env=self.environment(**variables),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def report_in(self, volume):
        """The one report of the volume's spool, with names."""
        shown = self.run_in(volume, "crashhook", "show", "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        report = json.loads(shown.stdout)
        self.assertEqual(names_of(crashed_thread(report))[:2], ["total_in_cents", "main"])
        return report

    @needs_root
    @needs_namespaces
    def test_a_crash_under_each_engines_filter_is_reported_in_full(self):
        for profile in ("Docker", "Docker before 25", "containerd"):
            with self.subTest(profile):
                volume = self.volume(profile)
                ended = self.run_in(volume, "crashhook", "run", "--", "/data/service", text=ORDERS)
                self.assertEqual(ended.returncode, 128 + signal.SIGSEGV, ended.stderr)
                report = self.report_in(volume)
                self.assertEqual(report["agent"]["tier"], "ptrace")
                self.assertEqual(report["host"]["container"], "docker")

    @needs_root
    @needs_namespaces
    def test_where_ptrace_is_refused_memory_is_read_in_another_way(self):
        volume = self.volume("Docker before 19.03")
        ended = self.run_in(volume, "crashhook", "run", "--", "/data/service", text=ORDERS)
        self.assertEqual(ended.returncode, 128 + signal.SIGSEGV, ended.stderr)
        self.assertEqual(self.report_in(volume)["agent"]["tier"], "procmem")

    @needs_root
    @needs_namespaces
    def test_a_linked_first_process_is_kept_until_its_report_is_written(self):
        volume = self.volume("Docker")
        ended = self.run_in(volume, "/data/service", text=ORDERS,
                            LD_PRELOAD="/data/lib/libcrashhook.so.1")
        # The kernel ends a first process by the signal of a fault too.
        self.assertIn(ended.returncode, (128 + signal.SIGSEGV, -signal.SIGSEGV), ended.stderr)
        self.report_in(volume)

    @needs_root
    @needs_namespaces
    def test_a_report_is_sent_from_a_read_only_root_without_a_volume(self):
        if not os.path.isdir("/dev/shm"):
            self.skipTest("there is no /dev/shm")
        volume = self.volume("Docker")

        def crash(*words, **variables):
            ended = self.run_in(volume, *words, "/data/service", text=ORDERS,
                                CRASHHOOK_SPOOL="/spool", **variables)
            self.assertIn(ended.returncode, (128 + signal.SIGSEGV, -signal.SIGSEGV), ended.stderr)
            return ended.stderr

        library = {"LD_PRELOAD": "/data/lib/libcrashhook.so.1"}
        self.assertIn("SIGSEGV is not reported", crash(**library))
        with FaultServer() as server:
            for words, variables in (([], library), (["crashhook", "run", "--"], {})):
                crash(*words, CRASHHOOK_URL=server.url, **variables)
                report = expanded(json.dumps(server.requests.pop().report()).encode())
                self.assertEqual(names_of(crashed_thread(report))[:2], ["total_in_cents", "main"])
                self.assertEqual(report["problems"][-1]["stage"], "spool")

    @needs_root
    @needs_namespaces
    def test_a_traced_first_process_dies_as_without_us_and_is_reported_once(self):
        # The kernel lets no signal but that of a fault end a first process: abort ends it by
        # an instruction that no program may execute.
        aborts = ["/usr/bin/python3", "-c", "import os; os.abort()"]
        for command, name in ((["/data/service"], "SIGSEGV"), (aborts, "SIGABRT")):
            with self.subTest(name):
                volume = self.volume("Docker")
                ended = self.run_in(volume, "crashhook", "run", "--via", "trace", "--", *command,
                                    text=ORDERS)
                self.assertIn(ended.returncode, (128 + signal.SIGSEGV, -signal.SIGSEGV),
                              ended.stderr)
                listed = self.run_in(volume, "crashhook", "list")
                self.assertEqual(len(listed.stdout.splitlines()), 1, listed.stdout)
                report = json.loads(self.run_in(volume, "crashhook", "show", "--json").stdout)
                self.assertEqual(report["crash"]["name"], name)
                self.assertIn("total_in_cents" if name == "SIGSEGV" else "abort",
                              names_of(crashed_thread(report)))

    @needs_root
    @needs_namespaces
    def test_a_collector_and_a_sender_work_under_the_filter(self):
        volume = self.volume("Docker")
        token = os.path.join(volume, "tokens")
        with open(token, "w", encoding="ascii") as file:
            file.write("a-token-of-the-container\n")
        os.chown(token, USER, USER)
        os.chmod(token, 0o600)
        said = os.path.join(volume, "said")
        with open(said, "wb") as words:
            collector = subprocess.Popen(
                self.command(volume, "crashhook-collector", "--listen", "127.0.0.1:0", "--store",
                             "sqlite:/data/reports.db", "--symbols", "/data/symbols",
                             "--token-file", "/data/tokens"), env=self.environment(),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=words,
                start_new_session=True)
        try:
            url = wait_for(lambda: self.address_in(said))
            variables = {"CRASHHOOK_URL": url, "CRASHHOOK_TOKEN_FILE": "/data/tokens"}
            self.run_in(volume, "crashhook", "run", "--", "/data/service", text=ORDERS, **variables)
            sent = self.run_in(volume, "crashhook", "upload", **variables)
            self.assertEqual(sent.returncode, 0, sent.stderr)
            groups = self.run_in(volume, "crashhook", "groups", "--json", **variables)
            self.assertIn("total_in_cents", groups.stdout, groups.stderr)
        finally:
            # What has become another user survives the end of unshare.
            os.killpg(collector.pid, signal.SIGKILL)
            collector.wait()

    def address_in(self, path):
        with open(path, encoding="utf-8") as file:
            found = re.search(r"http://\S+", file.read())
        return found and found.group().rstrip("/")

    @needs_root
    @needs_namespaces
    def test_doctor_knows_the_container_and_that_the_spool_outlives_it(self):
        volume = self.volume("Docker")
        for spool, verdict in (("/data/spool", "ok"), ("/tmp/spool", "trouble")):
            shown = self.run_in(volume, "crashhook", "doctor", "--json", CRASHHOOK_SPOOL=spool)
            checks = {check["name"]: check for check in json.loads(shown.stdout)["checks"]}
            self.assertEqual(checks["container"]["text"].split(";")[0], "Docker")
            self.assertEqual(checks["spool"]["verdict"], verdict, checks["spool"])
        self.assertEqual(checks["ptrace"]["verdict"], "ok", checks["ptrace"])


if __name__ == "__main__":
    harness.main()
