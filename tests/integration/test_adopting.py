# SPDX-License-Identifier: Apache-2.0
#
# The ways of adopting crashhook that docs/how-to/link.md shows, as examples/adopting has them.

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
                   "-DCRASHHOOK_WITH_AGENT=OFF", path="cmake-subdirectory")
        self.build("cmake", "--build", "build", "--target", "service", path="cmake-subdirectory")
        self.check_linked("cmake-subdirectory/build/service")

    def test_with_crashhook_got_by_cmake(self):
        self.build("cmake", "-S", ".", "-B", "build", "-DFETCHCONTENT_SOURCE_DIR_CRASHHOOK=" + SOURCE,
                   "-DCRASHHOOK_WITH_AGENT=OFF", path="cmake-fetch")
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

    def test_with_mesons_wrap_and_a_cmake_that_builds_no_agent(self):
        old = os.path.join(self.folder, "cmake-3.10")
        with open(old, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho cmake version 3.10.2\n")
        os.chmod(old, 0o755)
        with open(old + ".ini", "w", encoding="ascii") as file:
            file.write(f"[binaries]\ncmake = '{old}'\n")
        for which in ("crashhook-static", "crashhook"):
            place = os.path.join(self.folder, "adopting", "meson", "subprojects", "crashhook")
            if not os.path.exists(place):
                os.symlink(SOURCE, place)
            self.meson("--wrap-mode=forcefallback", "--native-file", old + ".ini", which=which)

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
                command = re.search(r"command: \[crashhook, (.*)\]", pod).group(1).split(", ")
                sidecar = subprocess.Popen(
                    [CRASHHOOK, *command],
                    env={**scene.environment({}), "CRASHHOOK_URL": variables["CRASHHOOK_URL"],
                         "CRASHHOOK_TOKEN_FILE": variables["CRASHHOOK_TOKEN_FILE"]})
                try:
                    self.assertEqual(self.crash_as_first_process(scene, **service),
                                     128 + signal.SIGSEGV)
                    self.await_sent(scene)
                    # The pod ends with the service: the sidecar is told as soon as that has.
                    self.assertEqual(self.crash_as_first_process(scene, **service),
                                     128 + signal.SIGSEGV)
                    sidecar.terminate()
                    self.assertEqual(sidecar.wait(60), 0)
                finally:
                    sidecar.kill()
                    sidecar.wait()
                listed = json.loads(scene.command("list", "--json").stdout)
                self.assertEqual([target["state"] for entry in listed
                                  for target in entry["targets"]], ["sent"] * 2)

    def test_the_patch_for_kustomize_adds_what_the_pod_has(self):
        try:
            import yaml
        except ImportError as missing:
            self.skipTest(str(missing))
        pod = yaml.safe_load(self.example("kubernetes.yaml"))["spec"]
        patch = yaml.safe_load(self.example("kustomize/sidecar.yaml"))["spec"]["template"]["spec"]
        del pod["containers"][0]["image"]
        pod["containers"][0]["env"].pop()  # the release
        self.assertEqual(patch, pod)
        if shutil.which("kubectl") is None:
            self.skipTest("rendering it needs kubectl")
        rendered = subprocess.run(["kubectl", "kustomize", os.path.join(ADOPTING, "kustomize")],
                                  check=True, text=True, stdout=subprocess.PIPE).stdout
        job = yaml.safe_load(rendered)["spec"]["template"]["spec"]
        pod["containers"][0]["image"] = "registry.invalid/service:1.4.2"
        self.assertEqual(job, {**pod, "restartPolicy": "Never"})

    def copy_product(self, folder):
        """What an image holds, where every user may enter; the path of its commands."""
        for part in ("bin/crashhook", "bin/crashhook-collector", "lib/libcrashhook.so.1",
                     "libexec/crashhook/crashhook-agent"):
            copy = os.path.join(folder, "product", part)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(os.path.join(BUILD, part), copy)
        return os.path.join(folder, "product", "bin")

    def in_read_only_root(self, folder, *command):
        """A command as that of a container: the root read-only, nobody's rights, folder alone
        writable."""
        script = ('mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec setpriv '
                  '--reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set -all '
                  '--inh-caps -all "$@"')
        return ["unshare", "--mount", "--propagation", "private", "--fork", "--pid",
                "--mount-proc", "--kill-child", "sh", "-c", script, "sh", folder, *command]

    @needs_namespaces
    def test_nobody_in_a_read_only_root_reports_sends_and_collects(self):
        folder = tempfile.mkdtemp(prefix="crashhook-image.", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o755)
        commands = self.copy_product(folder)
        data = os.path.join(folder, "data")
        os.mkdir(data)
        shutil.copy(self.plain_service(), os.path.join(folder, "service"))
        for name in ("", "tokens"):
            if name:
                with open(os.path.join(data, name), "w", encoding="ascii") as file:
                    file.write("a-token-of-the-image-1\n")
            os.chown(os.path.join(data, name), 10001, 10001)
        os.chmod(os.path.join(data, "tokens"), 0o600)
        environment = {"PATH": commands + ":/usr/bin:/bin:/usr/sbin:/sbin", "HOME": data,
                       "CRASHHOOK_SPOOL": os.path.join(data, "spool"), "TMPDIR": data,
                       "CRASHHOOK_TOKEN_FILE": os.path.join(data, "tokens")}
        said = open(data + "/said", "wb")
        self.addCleanup(said.close)
        collector = subprocess.Popen(
            self.in_read_only_root(folder, "crashhook-collector", "--listen", "127.0.0.1:0",
                                   "--store", f"sqlite:{data}/reports.db", "--symbols",
                                   data + "/symbols", "--token-file", data + "/tokens"),
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=said, start_new_session=True)
        try:
            environment["CRASHHOOK_URL"] = self.await_address(data + "/said")
            crashed = subprocess.run(
                self.in_read_only_root(folder, "crashhook", "run", "--", folder + "/service"),
                env=environment, input=ORDERS, text=True, check=False, timeout=60,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(crashed.returncode, 128 + signal.SIGSEGV, crashed.stderr)
            sent = subprocess.run(self.in_read_only_root(folder, "crashhook", "upload"),
                                  env=environment, check=False, text=True, timeout=60,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(sent.returncode, 0, sent.stdout)
            groups = subprocess.run(self.in_read_only_root(folder, "crashhook", "groups", "--json"),
                                    env=environment, check=False, text=True, timeout=60,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
            self.assertIn("total_in_cents", groups)
        finally:
            # All of it: what has become another user survives the end of unshare.
            os.killpg(collector.pid, signal.SIGKILL)
            collector.wait()

    def await_address(self, path):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with open(path, encoding="utf-8") as file:
                found = re.search(r"http://\S+", file.read())
            if found:
                return found.group().rstrip("/")
            time.sleep(0.05)
        self.fail("the collector does not listen")

    def example(self, name):
        with open(os.path.join(ADOPTING, name), encoding="utf-8") as file:
            return file.read()

    def test_volumes_have_room_for_more_than_the_spool_takes(self):
        pod = self.example("kubernetes.yaml")
        cap = int(re.search(r'SPOOL_MAX\n +value: "\d+,(\d+)M', pod).group(1))
        self.assertGreaterEqual(int(re.search(r"sizeLimit: (\d+)Mi", pod).group(1)), 1.5 * cap)
        for name in ("compose.yaml", "kubernetes-daemonset.yaml"):
            self.assertRegex(self.example(name), r"CRASHHOOK_SPOOL_MAX(: |\n +value: \")\d+,\d+M")

    def test_containers_start_commands_that_there_are_with_options_that_they_have(self):
        for name in ("compose.yaml", "kubernetes.yaml", "kubernetes-daemonset.yaml"):
            lines = re.findall(r"(?:command|entrypoint): \[ ?(crashhook), (\w+), ([^\]]*?) ?\]",
                               self.example(name))
            self.assertEqual(len(lines), 1, name)
            shown = subprocess.run([CRASHHOOK, lines[0][1], "--help"], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
            for option in re.findall(r"--\w+", lines[0][2]):
                self.assertIn(option, shown)

    def test_containers_of_ours_have_no_rights(self):
        compose = self.example("compose.yaml")
        self.assertEqual(compose.count("read_only: true"), 3)
        self.assertEqual(compose.count('user: "10001:10001"'), 3)
        for name in ("kubernetes.yaml", "kubernetes-daemonset.yaml"):
            self.assertIn("readOnlyRootFilesystem: true", self.example(name))
            self.assertIn("allowPrivilegeEscalation: false", self.example(name))

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

    def test_a_drop_in_has_a_service_reported_whose_unit_is_somebody_elses(self):
        text = self.example("drop-in.conf")
        unit = os.path.join(self.folder, "plain.service")
        os.makedirs(unit + ".d")
        with open(unit, "w", encoding="utf-8") as file:
            file.write("[Service]\nExecStart=/bin/true\n")
        with open(os.path.join(unit + ".d", "crashhook.conf"), "w", encoding="utf-8") as file:
            file.write(text)
        if shutil.which("systemd-analyze") is not None:
            said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], text=True,
                                  check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT).stdout
            self.assertEqual([line for line in said.splitlines() if "plain.service" in line], [])
        with Scene() as scene:
            scene.preload = None
            state = re.search(r"StateDirectory=(.*)", text)[1].replace("%N", "plain")
            os.mkdir(os.path.join(scene.folder, state), 0o700)
            variables = {name: value.replace("%S", scene.folder).replace("%N", "plain")
                         for name, value in re.findall(r"Environment=(\w+)=(.*)", text)}
            # Where the package puts it, the loader finds it by its name.
            variables["LD_LIBRARY_PATH"] = os.path.dirname(harness.HANDLER)
            scene.spool = variables["CRASHHOOK_SPOOL"]
            self.assertEqual(-self.crash(scene, [self.plain_service()], **variables),
                             signal.SIGSEGV)
            self.check(scene)


if __name__ == "__main__":
    harness.main()
