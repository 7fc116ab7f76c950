# SPDX-License-Identifier: Apache-2.0
#
# The bindings as packaging/build-bindings packs them, got and used as those of each language
# do it, without a network: a crate of a registry, a wheel and an sdist by pip, a module of a
# Go proxy, a tarball of npm. tests/integration/test_bindings.py has what they do.

import glob
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import textwrap
import unittest
import zipfile

import harness
from harness import AGENT, BUILD, HANDLER, SOURCE, Scene, crashed_thread, names_of
from place import refusal, rust_compiler

PKG_CONFIG = {"PKG_CONFIG_PATH": os.path.join(BUILD, "lib", "pkgconfig")}
MODULE = "crashhook.invalid/crashhook"
PANICS = """
fn total_in_cents(price: Option<&str>) -> i64 {
    price.unwrap().parse().expect("a number")
}

#[inline(never)]
fn write_nowhere(place: *mut i32) {
    unsafe { place.write_volatile(1) }
}

fn main() {
    crashhook::Options::new().release("1.4.2").install().expect("the library is linked");
    crashhook::set_panic_hook();
    if std::env::args().count() > 1 {
        write_nowhere(8 as *mut i32);
    }
    println!("{}", total_in_cents(None));
}
"""
# A program of the first lines of a README: two ways to fail, each of which is a group.
FIRST_RUST = """
fn price_of(text: &str) -> i64 {
    text.parse().expect("a number")
}

fn weight_of(text: &str) -> i64 {
    text.parse().expect("a weight")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
%s
    let one = std::env::args().nth(1).unwrap() == "price";
    println!("{}", if one { price_of("pear") } else { weight_of("pear") });
    Ok(())
}
"""
FIRST_GO = """package main

%s
import "os"

//go:noinline
func priceOf(prices []int) int { return prices[len(os.Args)] }

//go:noinline
func weightOf(weights map[string]int) { weights["pear"] = 1 }

func main() {
%s
	if err != nil {
		panic(err)
	}
	if os.Args[1] == "price" {
		println(priceOf(nil))
	}
	weightOf(nil)
}
"""
WORDS = """package main

import (
	"fmt"

	"crashhook.invalid/crashhook/words"
)

func main() {
	fmt.Println(words.Keep(words.Options{Release: "1.4.2"}))
}
"""


def version():
    with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(crashhook VERSION ([0-9.]+)", file.read()).group(1)


def cargo_that_works():
    """Cargo and the compiler of the same place; that of a version manager has none where
    HOME is another."""
    for cargo in (shutil.which("cargo"), "/usr/bin/cargo"):
        if cargo and not refusal(cargo, "--version"):
            return cargo
    return None


def snippets(readme):
    """The snippets of a README, in order."""
    return [textwrap.dedent(lines).strip()
            for lines in re.findall(r"(?:^    .*\n)+", readme, re.MULTILINE)]


class Packed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-packed.")
        cls.packed = os.path.join(cls.folder, "packed")
        done = subprocess.run([os.path.join(SOURCE, "packaging", "build-bindings"), cls.packed],
                              check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        cls.said = done.stdout
        assert done.returncode == 0, done.stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def only(self, pattern, name):
        """The one package of that kind, or a skip with what build-bindings said."""
        found = glob.glob(os.path.join(self.packed, pattern))
        left_out = re.search(rf"^left out: {name}: (.*)$", self.said, re.MULTILINE)
        if not found and left_out:
            self.skipTest(left_out[1])
        self.assertEqual(len(found), 1, self.said)
        return found[0]

    def succeed(self, command, **options):
        done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def report_of(self, command, **variables):
        """How the command ended, and its one report."""
        with Scene() as scene:
            scene.preload = None
            ended = subprocess.run(command, check=False, text=True, timeout=60, cwd=scene.folder,
                                   env=scene.environment(variables), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            reports = scene.reports()
            self.assertEqual(len(reports), 1, ended.stderr)
            self.assertEqual(reports[0]["release"], "1.4.2")
            return ended, reports[0]

    def new_folder(self):
        return tempfile.mkdtemp(dir=self.folder)

    def build_crate(self, dependency, program=PANICS, **variables):
        """A program that takes the crate from a registry, and no other."""
        crate = self.only("*.crate", "rust")
        self.assertEqual(os.path.basename(crate), f"crashhook-{version()}.crate")
        folder = self.new_folder()
        self.place_crate(crate, os.path.join(folder, "registry"))
        texts = {
            ".cargo/config.toml": '[source.crates-io]\nreplace-with = "here"\n'
                                  '[source.here]\ndirectory = "registry"\n',
            "Cargo.toml": '[package]\nname = "shop"\nversion = "1.0.0"\nedition = "2021"\n\n'
                          '[dependencies]\n'
                          f'crashhook = {{ version = "{version()}"{dependency} }}\n',
            "src/main.rs": program,
        }
        for name, text in texts.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.succeed([cargo_that_works(), "build", "--offline"], cwd=folder,
                     env={**os.environ, "PKG_CONFIG_PATH": "/nonexistent",
                          "RUSTC": rust_compiler(), "CARGO_HOME": os.path.join(folder, "home"),
                          "CARGO_TARGET_DIR": os.path.join(folder, "target"), **variables})
        return os.path.join(folder, "target", "debug", "shop")

    def check_shop(self, shop, **variables):
        ended, report = self.report_of([shop], **variables)
        self.assertEqual(ended.returncode, 101)
        names = [name for thread in report["threads"] for name in names_of(thread)]
        self.assertIn("shop::total_in_cents", names)
        ended, report = self.report_of([shop, "crash"], **variables)
        self.assertEqual(-ended.returncode, signal.SIGSEGV)
        self.assertIn("shop::write_nowhere", names_of(crashed_thread(report)))

    def test_a_crate_of_a_registry_has_the_handler_in_it(self):
        shop = self.build_crate("")
        self.check_shop(shop, CRASHHOOK_AGENT=AGENT)
        self.check_record(shop, "crash")

    def check_groups(self, shop, ended_by, names, **variables):
        """Each way to fail has a report that names the function, and a group of its own."""
        with Scene() as scene:
            scene.preload = None
            for word in ("price", "weight", "price"):
                ended = scene.run([shop, word], **variables)
                self.assertIn(ended_by, (ended.status, ended.signal), ended.stderr)
            scene.reports()  # waits until they have names; records are read by `list`
            listed = json.loads(scene.command("list", "--json").stdout)
            groups = [entry["group"] for entry in listed]
            self.assertEqual(len(groups), 3, listed)
            self.assertEqual(groups[0], groups[2])
            self.assertNotIn(groups[1], ("0", "", None, groups[0]))
            self.assertRegex(scene.command("show").stdout, names)

    def test_the_first_lines_for_rust_group_panics_by_function(self):
        with tarfile.open(self.only("*.crate", "rust")) as crate:
            readme = crate.extractfile(f"crashhook-{version()}/README.md").read().decode()
        shop = self.build_crate("", FIRST_RUST % snippets(readme)[0])
        # Before Rust 1.65 there is no stack.
        self.check_groups(shop, 101, r"Rust panic at src/main\.rs:3", CRASHHOOK_AGENT=AGENT)

    def test_a_crate_of_a_registry_is_linked_by_its_build_script(self):
        if " " in BUILD:
            self.skipTest("pkg-config escapes a space for a shell, which build.rs is none")
        shop = self.build_crate(', default-features = false, features = ["link"]', **PKG_CONFIG)
        # cargo passes no link argument of a dependency on: who links finds the library itself.
        self.check_shop(shop, LD_LIBRARY_PATH=os.path.join(BUILD, "lib"))

    def place_crate(self, crate, registry):
        """A crate in a registry that is a folder, as cargo vendor leaves one."""
        with tarfile.open(crate) as archive:
            archive.extractall(registry)
        with open(crate, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        place = os.path.join(registry, f"crashhook-{version()}")
        for wanted in ("LICENSE", "README.md", "examples/panics.rs"):
            self.assertTrue(os.path.exists(os.path.join(place, wanted)), wanted)
        with open(os.path.join(place, ".cargo-checksum.json"), "w", encoding="ascii") as file:
            json.dump({"package": digest, "files": {}}, file)

    def test_a_wheel_and_an_sdist_are_installed_by_pip(self):
        if refusal("/usr/bin/python3", "-m", "pip", "--version"):
            self.skipTest("there is no pip")
        wheel = self.only(f"crashhook-{version()}-py3-none-any.whl", "python")
        sdist = self.only(f"crashhook-{version()}.tar.gz", "python")
        for package in (wheel, sdist):
            with self.subTest(os.path.basename(package)):
                place = self.new_folder()
                self.succeed(["/usr/bin/python3", "-m", "pip", "install", "-q", "--no-index",
                              "--no-deps", "--no-build-isolation", "--no-cache-dir",
                              "--disable-pip-version-check", "--root-user-action", "ignore",
                              "--target", place, package],
                             env={**os.environ, "PIP_CONFIG_FILE": os.devnull})
                self.assertTrue(glob.glob(os.path.join(place, "*.dist-info", "**", "LICENSE"),
                                          recursive=True))
                self.check_python(place)

    def check_python(self, place):
        example = os.path.join(SOURCE, "bindings", "python", "examples", "crash.py")
        ended, report = self.report_of(["/usr/bin/python3", example], PYTHONPATH=place,
                                       LIBCRASHHOOK=HANDLER, PYTHONDONTWRITEBYTECODE="1")
        self.assertEqual(-ended.returncode, signal.SIGSEGV)
        self.assertIn("strlen", names_of(crashed_thread(report))[0])

    def alone(self, name):
        """The package of a binding that brings this build along."""
        packed = os.path.join(self.new_folder(), "packed")
        said = self.succeed([os.path.join(SOURCE, "packaging", "build-bindings"), "--with", BUILD,
                             packed, name])
        if "left out" in said:
            self.skipTest(said)
        return packed

    def check_alone(self, crash, *command):
        """A crash is reported, and shown by the command, where nothing is installed."""
        with Scene() as scene:
            scene.preload = None
            environment = {name: value for name, value in scene.environment({}).items()
                           if name not in ("LIBCRASHHOOK", "PYTHONPATH", "LD_LIBRARY_PATH")}
            environment["PATH"] = "/usr/bin:/bin"

            def run(*words):
                return subprocess.run(words, check=False, text=True, timeout=60, env=environment,
                                      cwd=scene.folder, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

            ended = run(*crash)
            self.assertIn(ended.returncode, (-signal.SIGSEGV, 128 + signal.SIGSEGV), ended.stdout)
            shown = run(*command, "show")
            self.assertEqual(shown.returncode, 0, shown.stdout)
            return shown.stdout

    def test_a_wheel_with_the_agent_needs_nothing_else(self):
        packed = self.alone("python")
        place = self.new_folder()
        python = os.path.join(place, "bin", "python")
        done = subprocess.run(["/usr/bin/python3", "-m", "venv", place], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            self.skipTest(f"no fresh environment: {done.stdout.splitlines()[-1:]}")
        wheel, = glob.glob(os.path.join(packed, "*.whl"))
        self.assertRegex(os.path.basename(wheel), r"-py3-none-manylinux_2_\d\d_\w+\.whl$")
        self.succeed([python, "-m", "pip", "install", "-q", "--no-index", "--no-cache-dir",
                      "--disable-pip-version-check", wheel],
                     env={**os.environ, "PIP_CONFIG_FILE": os.devnull})
        example = os.path.join(SOURCE, "bindings", "python", "examples", "crash.py")
        shown = self.check_alone([python, example], python, "-m", "crashhook")
        self.assertRegex(shown, r"price_of.*at .*crash\.py:12")
        self.assertIn("1.4.2", shown)
        program = harness.example("null_write")
        shown = self.check_alone([python, "-m", "crashhook", "run", "--", program],
                                 python, "-m", "crashhook")
        self.assertRegex(shown, r"SIGSEGV in write_line at .*shop_pricing\.c:")
        # Under `crashhook run` the library is there already.
        shown = self.check_alone([python, "-m", "crashhook", "run", "--", python, example],
                                 python, "-m", "crashhook")
        self.assertRegex(shown, r"price_of.*at .*crash\.py:12")

    def test_a_package_of_npm_with_the_agent_needs_nothing_else(self):
        for tool in ("node", "npm"):
            if shutil.which(tool) is None or refusal(tool, "--version"):
                self.skipTest(f"{tool} is not installed")
        packed = self.alone("node")
        folder = self.new_folder()
        with open(os.path.join(folder, "package.json"), "w", encoding="ascii") as file:
            file.write('{"name": "shop", "version": "1.0.0", "private": true}')
        self.succeed(["npm", "install", "--offline", "--no-audit", "--no-fund", "--cache",
                      self.new_folder(), os.path.join(packed, f"crashhook-{version()}.tgz")],
                     cwd=folder)
        command = os.path.join(folder, "node_modules", ".bin", "crashhook")
        program = harness.example("null_write")
        shown = self.check_alone([command, "run", "--", program], command)
        self.assertRegex(shown, r"SIGSEGV in write_line at .*shop_pricing\.c:")

    def go(self, *command, cwd=None, **variables):
        go = shutil.which("go")
        if go is None:
            self.skipTest("go is not installed")
        if " " in BUILD:
            self.skipTest("cgo takes no path with a space")
        environment = {**os.environ, **PKG_CONFIG, "GOTOOLCHAIN": "local", "GOSUMDB": "off",
                       "GOPROXY": "file://" + os.path.join(self.packed, "go"),
                       "GOFLAGS": "-modcacherw", "GOMODCACHE": os.path.join(self.folder, "mods"),
                       "GOBIN": os.path.join(self.folder, "bin"), **variables}
        return self.succeed([go, *command], cwd=cwd or self.folder, env=environment)

    def check_record(self, *command):
        """Where no agent is found, the crash leaves a record, which the command converts."""
        with Scene() as scene:
            scene.preload = None
            subprocess.run(command, check=False, env=scene.environment({}), timeout=60,
                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertEqual(len(glob.glob(os.path.join(scene.spool, "*.record"))), 1)
            self.assertIn("SIGSEGV", scene.command("list").stdout)

    def check_go_example(self, folder, **variables):
        ended, report = self.report_of([os.path.join(folder, "example"), "crash"], **variables)
        self.assertEqual(-ended.returncode, signal.SIGABRT)
        self.assertEqual(crashed_thread(report)["backtrace"]["frames"][0]["function"],
                         "write_null")
        ended, report = self.report_of([os.path.join(folder, "example")], **variables)
        self.assertEqual(-ended.returncode, signal.SIGABRT)
        self.assertIn("main.priceOf", names_of(crashed_thread(report)))

    def test_a_go_module_of_a_proxy_has_the_handler_in_it(self):
        folder = self.new_folder()
        self.go("install", f"{MODULE}/example@v{version()}", GOBIN=folder,
                PKG_CONFIG_PATH="/nonexistent")
        self.check_go_example(folder, CRASHHOOK_AGENT=AGENT)
        self.assertNotIn("libcrashhook", self.succeed(["ldd", os.path.join(folder, "example")]))

    def test_the_first_lines_for_go_group_panics_by_function(self):
        module, = glob.glob(os.path.join(self.packed, "go", "**", f"v{version()}.zip"),
                            recursive=True)
        with zipfile.ZipFile(module) as archive:
            readme = archive.read(f"{MODULE}@v{version()}/README.md").decode()
        taken, installs = snippets(readme)[:2]
        folder = self.new_folder()
        with open(os.path.join(folder, "main.go"), "w", encoding="utf-8") as file:
            file.write(FIRST_GO % (taken, installs))
        self.go("mod", "init", "shop.invalid/shop", cwd=folder)
        self.go("get", f"{MODULE}@v{version()}", cwd=folder)
        self.go("build", "-o", "shop", ".", cwd=folder, PKG_CONFIG_PATH="/nonexistent")
        self.check_groups(os.path.join(folder, "shop"), signal.SIGABRT, r"main\.priceOf at .*main\.go:",
                          CRASHHOOK_AGENT=AGENT)

    def test_a_go_module_of_a_proxy_links_the_library_where_its_tag_says_so(self):
        folder = self.new_folder()
        self.go("install", "-tags", "crashhook_link", f"{MODULE}/example@v{version()}",
                GOBIN=folder)
        self.check_go_example(folder)

    def test_a_go_program_without_cgo_requires_it_and_nothing_else(self):
        folder = self.new_folder()
        with open(os.path.join(folder, "main.go"), "w", encoding="utf-8") as file:
            file.write(WORDS)
        self.go("mod", "init", "shop.invalid/shop", cwd=folder)
        self.go("get", f"{MODULE}/words@v{version()}", cwd=folder)
        self.go("build", "-o", "shop", ".", cwd=folder, CGO_ENABLED="0")
        listed = self.go("list", "-m", "all", cwd=folder)
        self.assertEqual(listed.split(), ["shop.invalid/shop", MODULE, "v" + version()])

    def test_a_tarball_of_npm_is_required_by_its_name(self):
        if shutil.which("node") is None:
            self.skipTest("node is not installed")
        modules = os.path.join(self.new_folder(), "node_modules")
        with tarfile.open(self.only(f"crashhook-{version()}.tgz", "node")) as archive:
            archive.extractall(modules)
        os.rename(os.path.join(modules, "package"), os.path.join(modules, "crashhook"))
        said = self.succeed(["node", "-p", "typeof require('crashhook').reportExceptions"],
                            cwd=os.path.dirname(modules))
        self.assertEqual(said, "function\n")

    def test_the_same_tree_gives_the_same_packages(self):
        said = [self.succeed([os.path.join(SOURCE, "packaging", "build-bindings"),
                              os.path.join(self.new_folder(), "again"), "python", "go", "node"],
                             env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
                for _ in range(2)]
        # The sdist's times are setuptools' own.
        kept = [[line for line in one.splitlines() if not line.endswith(".tar.gz")]
                for one in said]
        self.assertEqual(kept[0], kept[1])
        self.assertIn(".zip", said[0])


if __name__ == "__main__":
    harness.main()
