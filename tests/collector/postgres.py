#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# postgres.py [--pooled] COMMAND...: runs COMMAND with CRASHHOOK_TEST_POSTGRESQL naming a
# PostgreSQL server of its own: in a temporary folder, on a Unix socket there, under a user
# who is not root. With --pooled there is pgbouncer in front of it, in transaction mode.
# Exit 77, and says so, where one of them is not installed.

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 90
OPTIONS = ("listen_addresses=", "max_connections=60", "shared_buffers=64MB",
           "max_wal_size=4GB")


def programs():
    """The folder of the newest server's programs, or None."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    found.sort(key=lambda path: int(path.split("/")[4]))
    return os.path.dirname(found[-1]) if found else None


class Postgres:
    """A running server; durable: it syncs, which only measuring needs."""

    def __init__(self, durable=False, options=()):
        self.options = OPTIONS + tuple(options)
        self.programs = programs()
        self.durable = durable
        self.made = 0
        self.user = {}
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            name = "postgres" if "postgres" in names else "nobody"
            entry = pwd.getpwnam(name)
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def make_folder(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-pg-")
        if self.user:
            os.chown(self.folder, self.user["user"], self.user["group"])
        os.chmod(self.folder, 0o755)

    def __enter__(self):
        self.make_folder()
        self.run("initdb", "-D", self.folder + "/data", "-A", "trust", "-U", "crashhook",
                 "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()
        self.run("psql", "-h", self.folder, "-U", "crashhook", "-q", "-c",
                 "CREATE EXTENSION pg_trgm", "template1")
        return self

    def start(self):
        command = [self.programs + "/postgres", "-D", self.folder + "/data", "-k",
                   self.folder]
        for option in self.options + (("fsync=on",) if self.durable else ("fsync=off",)):
            command += ["-c", option]
        with open(self.folder + "/log", "ab") as log:
            self.process = subprocess.Popen(command, cwd="/", stdout=log, stderr=log,
                                            start_new_session=True, **self.user)
        self.wait()

    def processes(self):
        """The first process of the server, and those that it has started."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [pid, *(int(child) for child in file.read().split())]

    def signal(self, number):
        """Sends a signal to every process of the server; each has a session of its own."""
        for process in self.processes():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        shutil.rmtree(self.folder)

    def run(self, program, *arguments):
        subprocess.run([f"{self.programs}/{program}", *arguments], check=True, cwd="/",
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **self.user)

    def wait(self):
        limit = time.monotonic() + PATIENCE_S
        while subprocess.run([self.programs + "/pg_isready", "-q", "-h", self.folder],
                             check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > limit:
                with open(self.folder + "/log", encoding="utf-8") as log:
                    raise RuntimeError("the server did not start: " + log.read())
            time.sleep(0.05)

    def checkpoint(self):
        """Puts down everything, which frees the files of its log to be written again."""
        self.run("psql", "-h", self.folder, "-U", "crashhook", "-q", "-c", "CHECKPOINT",
                 "postgres")

    def ask(self, statement, database="postgres"):
        """What a statement answers, as text."""
        return subprocess.run([self.programs + "/psql", "-h", self.folder, "-U", "crashhook",
                               "-At", "-c", statement, database], check=True, cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              **self.user).stdout.strip()

    def address(self, database):
        return f"postgresql://crashhook@/{database}?host={self.folder}"

    def database(self):
        """The address of a new, empty database."""
        self.made += 1
        self.run("psql", "-h", self.folder, "-U", "crashhook", "-q", "-c",
                 f"CREATE DATABASE made{self.made}", "postgres")
        return self.address(f"made{self.made}")


class Standby(Postgres):
    """A standby of a server, which then commits nothing that is not here too."""

    def __init__(self, primary):
        super().__init__()
        self.primary = primary

    def __enter__(self):
        self.make_folder()
        self.run("pg_basebackup", "-h", self.primary.folder, "-U", "crashhook", "-D",
                 self.folder + "/data", "-R", "-c", "fast", "--no-sync")
        self.start()
        self.primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.ask("SELECT pg_reload_conf()")
        limit = time.monotonic() + PATIENCE_S
        while self.primary.ask("SELECT count(*) FROM pg_stat_replication"
                               " WHERE sync_state = 'sync'") != "1":
            if time.monotonic() > limit:
                raise RuntimeError("the standby does not follow")
            time.sleep(0.05)
        return self

    def follow(self):
        """Waits until what the primary has by now is seen here: a commit waits until it
        has arrived, and not until it is replayed."""
        there = self.primary.ask("SELECT pg_current_wal_lsn()")
        limit = time.monotonic() + PATIENCE_S
        while self.ask(f"SELECT pg_last_wal_replay_lsn() >= '{there}'") != "t":
            if time.monotonic() > limit:
                raise RuntimeError("the standby does not replay")
            time.sleep(0.05)

    def leave(self):
        """Lets the primary commit without this standby from now on."""
        self.primary.ask("ALTER SYSTEM RESET synchronous_standby_names")
        self.primary.ask("SELECT pg_reload_conf()")

    def promote(self):
        self.run("pg_ctl", "promote", "-w", "-D", self.folder + "/data")


class Pooler:
    """pgbouncer in front of a server: each transaction gets one of two sessions."""

    CONFIGURATION = """[databases]
* = host={server} user=crashhook
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
server_idle_timeout = 3
max_client_conn = 100
auth_type = any
listen_addr =
unix_socket_dir = {folder}
listen_port = 6432
logfile = {folder}/log
"""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-pooler-")
        path = self.folder + "/pgbouncer.ini"
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.CONFIGURATION.format(server=self.server.folder,
                                                 folder=self.folder))
        if self.server.user:
            os.chown(self.folder, self.server.user["user"], self.server.user["group"])
        os.chmod(self.folder, 0o755)
        self.process = subprocess.Popen([pooler(), "-q", path], cwd="/",
                                        start_new_session=True, **self.server.user)
        limit = time.monotonic() + PATIENCE_S
        while not os.path.exists(self.folder + "/.s.PGSQL.6432"):
            if self.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError("pgbouncer did not start")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)

    def database(self):
        """The address, through the pooler, of a new, empty database."""
        return (self.server.database().replace(self.server.folder, self.folder) +
                "&port=6432")


def pooler():
    return shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")


def require():
    """Leaves the test as skipped where there is no server."""
    if programs() is None:
        print("SKIPPED: no PostgreSQL server is installed (package postgresql)")
        sys.exit(77)


def main():
    require()
    pooled = sys.argv[1] == "--pooled"
    if pooled and pooler() is None:
        print("SKIPPED: no pgbouncer is installed (package pgbouncer)")
        return 77
    with Postgres() as server, Pooler(server) if pooled else contextlib.nullcontext(
            server) as front:
        os.environ["CRASHHOOK_TEST_POSTGRESQL"] = front.database()
        return subprocess.run(sys.argv[1 + pooled:], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
