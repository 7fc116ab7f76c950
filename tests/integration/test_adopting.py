# SPDX-License-Identifier: Apache-2.0
#
# The ways of adopting crashhook that docs/adopting.md shows, as examples/adopting has them.

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import AGENT, BUILD, COLLECTOR, CRASHHOOK, SOURCE, Scene, crashed_thread, frames_of
from place import needs_namespaces

ADOPTING = os.path.join(SOURCE, "examples", "adopting")
SERVICE = "examples/adopting/service.c"
ORDERS = "apple 120\npear\n"


class Adopting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-adopting.")
        shutil.copytree(ADOPTING, os.path.join(cls.folder, "adopting"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def build(self, *command, path=""):
        """Runs a build's command in the examples' folder, with this build of crashhook."""
        found = {"PKG_CONFIG_PATH": os.path.join(BUILD, "lib", "pkgconfig"),
                 "CMAKE_PREFIX_PATH": BUILD}
        done = subprocess.run(command, cwd=os.path.join(self.folder, "adopting", path),
                              env={**os.environ, **found}, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)

    def crash(self, scene, command, **variables):
        """Gives a service orders of which the second crashes it."""
        process = subprocess.run(command, input=ORDERS, text=True, timeout=60, check=False,
                                 cwd=scene.folder, env=scene.environment(variables),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout, "")
        return process.returncode

    def check(self, scene):
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        frames = frames_of(crashed_thread(reports[0]))
        self.assertEqual([frame.get("function") for frame in frames[:2]],
                         ["total_in_cents", "main"])
        self.assertEqual(frames[0]["line"], harness.crash_line(SERVICE))
        return reports[0]

    def check_linked(self, program):
        with Scene() as scene:
            scene.preload = None
            # A static program finds the agent where crashhook is installed.
            status = self.crash(scene, [os.path.join(self.folder, "adopting", program)],
                                CRASHHOOK_AGENT=AGENT)
            self.assertEqual(-status, signal.SIGSEGV)
            self.check(scene)

    def test_with_pkg_config(self):
        self.build("make", "service")
        self.check_linked("service")

    def test_as_a_static_program(self):
        self.build("make", "service-static")
        self.check_linked("service-static")

    def test_with_cmake(self):
        self.build("cmake", "-S", ".", "-B", "build", path="cmake")
        self.build("cmake", "--build", "build", path="cmake")
        self.check_linked("cmake/build/service")

    def test_with_crashhook_as_a_folder_of_a_cmake_project(self):
        self.build("cmake", "-S", ".", "-B", "build", "-DCRASHHOOK_SOURCE=" + SOURCE,
                   path="cmake-subdirectory")
        self.build("cmake", "--build", "build", "--target", "service", path="cmake-subdirectory")
        self.check_linked("cmake-subdirectory/build/service")

    def test_with_crashhook_got_by_cmake(self):
        self.build("cmake", "-S", ".", "-B", "build", "-DFETCHCONTENT_SOURCE_DIR_CRASHHOOK=" + SOURCE,
                   path="cmake-fetch")
        self.build("cmake", "--build", "build", "--target", "service", path="cmake-fetch")
        self.check_linked("cmake-fetch/build/service")

    def test_the_whole_tree_as_a_folder_of_a_cmake_project_configures(self):
        self.build("cmake", "-S", ".", "-B", "whole", "-DCRASHHOOK_SOURCE=" + SOURCE,
                   "-DCRASHHOOK_ONLY_HANDLER=OFF", path="cmake-subdirectory")
        said = subprocess.run(["cmake", "--build", "whole", "--target", "help"], check=True,
                              cwd=os.path.join(self.folder, "adopting", "cmake-subdirectory"),
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("crashhook-agent", said)
        self.assertNotIn("test_", said)

    def meson(self, *wanted, which="crashhook-static"):
        if shutil.which("meson") is None:
            self.skipTest("meson is not installed")
        folder = os.path.join(self.folder, "adopting", "meson")
        with open(os.path.join(folder, "meson.build"), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(folder, "meson.build"), "w", encoding="utf-8") as file:
            file.write(re.sub("'crashhook(-static)?', fallback: .*]",
                              f"'{which}', fallback: ['crashhook', "
                              f"'{which.replace('-', '_')}_dep']", text))
        built = "build-" + which
        self.build("meson", "setup", *wanted, built, path="meson")
        self.build("meson", "compile", "-C", built, path="meson")
        self.check_linked(f"meson/{built}/service")

    def test_with_meson_and_an_installed_crashhook(self):
        self.meson()

    def test_with_mesons_wrap(self):
        for which in ("crashhook-static", "crashhook"):
            place = os.path.join(self.folder, "adopting", "meson", "subprojects", "crashhook")
            if not os.path.exists(place):
                os.symlink(SOURCE, place)
            self.meson("--wrap-mode=forcefallback", which=which)

    def plain_service(self):
        path = os.path.join(self.folder, "plain")
        subprocess.run(["cc", "-g", "-O1", "-o", path, os.path.join(SOURCE, SERVICE)],
                       check=True)
        return path

    def test_preloaded_into_a_program_that_knows_nothing_of_it(self):
        with Scene() as scene:
            status = self.crash(scene, [self.plain_service()])
            self.assertEqual(-status, signal.SIGSEGV)
            self.check(scene)

    @contextlib.contextmanager
    def collector(self, scene, *options):
        """Runs a collector for a while; its address."""
        store = os.path.join(scene.folder, "reports.db")
        with subprocess.Popen([COLLECTOR, "--listen", "127.0.0.1:0", "--store",
                               "sqlite:" + store, *options], stderr=subprocess.PIPE,
                              text=True) as collector:
            try:
                yield re.search(r"http://\S+", collector.stderr.readline()).group().rstrip("/")
            finally:
                collector.terminate()

    def crash_as_first_process(self, scene, **variables):
        """As in the Containerfile: crashhook run is process 1, and all ends with it."""
        scene.preload = None
        return self.crash(
            scene, ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child",
                    CRASHHOOK, "run", "--", self.plain_service()],
            **variables)

    @needs_namespaces
    def test_as_the_first_process_of_a_container(self):
        with Scene() as scene, self.collector(scene) as url:
            status = self.crash_as_first_process(scene, CRASHHOOK_URL=url,
                                                 CRASHHOOK_TIMEOUT="20s")
            self.assertEqual(status, 128 + signal.SIGSEGV)
            report = self.check(scene)
            states = json.loads(scene.command("list", "--json").stdout)[0]["targets"]
            self.assertEqual([target["state"] for target in states], ["sent"])
            self.assertEqual(report["revision"], 1)

    @needs_namespaces
    def test_in_a_pod_of_kubernetes(self):
        # The volume's folder is everybody's, as that of an emptyDir is.
        with open(os.path.join(ADOPTING, "kubernetes.yaml"), encoding="utf-8") as file:
            pod = file.read()
        with Scene() as scene:
            volume = os.path.join(scene.folder, "volume")
            os.mkdir(volume)
            os.chmod(volume, 0o777)
            token = os.path.join(scene.folder, "token")
            with open(token, "w", encoding="ascii") as file:
                file.write("a-token-of-the-pod\n")
            with self.collector(scene, "--token-file", token) as url:
                values = {"/spool": volume, "http://collector:8765": url,
                          "/run/secrets/crashhook/token": token}
                for there, here in values.items():
                    pod = pod.replace(there, here)
                variables = dict(re.findall(r"name: (CRASHHOOK_\w+)\n +value: \"?([^\"\n]+)", pod))
                scene.spool = variables.pop("CRASHHOOK_SPOOL")
                service = {name: variables[name] for name in ("CRASHHOOK_HOLD",
                                                              "CRASHHOOK_RELEASE")}
                self.assertEqual(self.crash_as_first_process(scene, **service),
                                 128 + signal.SIGSEGV)
                command = re.search(r"command: \[crashhook, (.*)\]", pod).group(1).split(", ")
                sidecar = subprocess.Popen(
                    [CRASHHOOK, *command],
                    env={**scene.environment({}), "CRASHHOOK_URL": variables["CRASHHOOK_URL"],
                         "CRASHHOOK_TOKEN_FILE": variables["CRASHHOOK_TOKEN_FILE"]})
                try:
                    self.await_sent(scene)
                finally:
                    sidecar.terminate()
                    sidecar.wait()

    def await_sent(self, scene):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            listed = json.loads(scene.command("list", "--json").stdout)
            if [t["state"] for entry in listed for t in entry["targets"]] == ["sent"]:
                return
            time.sleep(0.1)
        self.fail(f"not sent: {listed}")

    def test_the_unit_of_systemd_is_well_formed(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed")
        unit = os.path.join(self.folder, "service.service")
        with open(os.path.join(ADOPTING, "service.service"), encoding="utf-8") as file:
            text = file.read().replace("/usr/bin/crashhook", CRASHHOOK)
        with open(unit, "w", encoding="utf-8") as file:
            file.write(text)
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], text=True,
                              check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT).stdout
        self.assertEqual([line for line in said.splitlines() if unit in line], [])


if __name__ == "__main__":
    harness.main()
