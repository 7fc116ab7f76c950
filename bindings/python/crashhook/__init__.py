# SPDX-License-Identifier: Apache-2.0
"""Reports of crashes in Python extensions and in the interpreter, by libcrashhook.

    import crashhook
    crashhook.install(release="1.4.2")

crashhook/crashhook.h says what each function promises. Those that tell of the program do
nothing before install().
"""

import contextlib
import contextvars
import ctypes
import os
import sys
import threading
import traceback

__all__ = ["install", "set_tag", "set_data", "breadcrumb", "attach_file", "report_exceptions",
           "report_now", "tag", "version"]

# The members of struct crashhook_options after its size. The first version had nine.
_MEMBERS = ("url", "token_file", "spool", "agent", "timeout", "print", "release", "environment",
            "tags", "token", "spool_max", "signals", "unwind", "limit", "top", "threads", "images",
            "symbolize", "hold", "mode", "handlers", "preset", "arguments", "sanitize", "memory",
            "own", "rate", "log", "kills", "starts", "stacks", "output", "format", "registers",
            "demangle", "color", "interactive", "warnings", "cache", "descriptors", "pii",
            "user")
_FIRST_MEMBERS = 9
# Of an exception: as many as a reader takes.
_FRAMES_MOST = 96


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_char_p) for name in _MEMBERS]


_library = None
_given = {}  # the options of install()
_tags = contextvars.ContextVar("crashhook_tags", default={})


def bundled(name):
    """A file of the installation that a wheel may bring along, or None."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", name)
    return path if os.path.exists(path) else None


def _find():
    """The file to load. One that is there already, by `crashhook run`, is the only one."""
    name = "libcrashhook.so.1"
    if "LIBCRASHHOOK" in os.environ:
        return os.environ["LIBCRASHHOOK"]
    try:
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
        return name
    except OSError:
        return bundled(f"lib/{name}") or name


def _load():
    global _library
    if _library is None:
        library = ctypes.CDLL(_find(), mode=ctypes.RTLD_GLOBAL)
        library.crashhook_install.argtypes = [ctypes.POINTER(_Options)]
        library.crashhook_set_tag.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.crashhook_set_data.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.crashhook_breadcrumb.argtypes = [ctypes.c_char_p]
        library.crashhook_breadcrumb.restype = None
        library.crashhook_attach_file.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        library.crashhook_report_now.argtypes = [ctypes.c_char_p]
        library.crashhook_version.restype = ctypes.c_char_p
        _library = library
    return _library


def _check(error, what):
    if error != 0:
        raise OSError(error, f"{what}: {os.strerror(error)}")


def _bytes(value):
    return None if value is None else os.fsencode(value)


def install(**options):
    """Installs the handler, or applies options to it: members of struct crashhook_options, such
    as release="1.4.2". A CRASHHOOK_* variable that is set takes precedence."""
    unknown = sorted(set(options) - set(_MEMBERS))
    if unknown:
        raise TypeError(f"install() has no option {', '.join(unknown)}")
    _given.update(options)
    library = _load()
    values = _Options(ctypes.sizeof(_Options), *(_bytes(options.get(name)) for name in _MEMBERS))
    error = library.crashhook_install(ctypes.byref(values))
    if error == 22:
        values.size = ctypes.sizeof(ctypes.c_size_t) * (1 + _FIRST_MEMBERS)
        error = library.crashhook_install(ctypes.byref(values))
    _check(error, "crashhook cannot be installed")


def set_tag(name, value):
    """Sets a tag, by which reports can be searched; None removes it."""
    if _library is not None:
        _check(_library.crashhook_set_tag(_bytes(name), _bytes(value)), f"tag {name}")


def set_data(name, value):
    """Sets a longer text that is shown with the report; None removes it."""
    if _library is not None:
        _check(_library.crashhook_set_data(_bytes(name), _bytes(value)), f"data {name}")


def breadcrumb(message):
    """Records an event: the last 128 are part of a report."""
    if _library is not None:
        _library.crashhook_breadcrumb(_bytes(str(message)))


def attach_file(path, tail_bytes=0):
    """Adds the end of a file to reports: its last tail_bytes, 0 for 64 KiB."""
    if _library is not None:
        _check(_library.crashhook_attach_file(os.path.abspath(os.fsencode(path)), tail_bytes),
               f"file {path}")


def report_now(why=None):
    """Writes a report of the running process, which goes on."""
    _check(_load().crashhook_report_now(_bytes(why)), "no report was written")


def report_exceptions(threads=False):
    """Has the exception that ends the program reported when it has ended, with its traceback;
    the exit status stays 1. threads: also exceptions that end a thread. Nothing else is asked
    of the library, which need not be there."""
    if os.getuid() != os.geteuid() or os.environ.get("CRASHHOOK_ENABLE") == "no":
        return
    previous = sys.excepthook

    def end_of_program(kind, value, trace):
        if issubclass(kind, Exception):
            _leave_words(kind, value, trace, threading.get_native_id(), 1)
        previous(kind, value, trace)

    sys.excepthook = end_of_program
    if threads:
        _report_threads()


def _report_threads():
    previous = threading.excepthook

    def end_of_thread(args):
        if issubclass(args.exc_type, Exception):
            _leave_words(args.exc_type, args.exc_value, args.exc_traceback,
                         threading.get_native_id(), None)
        previous(args)

    threading.excepthook = end_of_thread


def _setting(name):
    return os.environ.get("CRASHHOOK_" + name.upper()) or _given.get(name)


def _spool():
    """The spool, as the library finds it."""
    state = os.environ.get("XDG_STATE_HOME", "")
    home = os.environ.get("HOME", "")
    if _setting("spool"):
        return os.fsdecode(_setting("spool"))
    if os.geteuid() == 0:
        return "/var/lib/crashhook"
    if state.startswith("/"):
        return os.path.join(state, "crashhook")
    return os.path.join(home, ".local/state/crashhook")


def _frames(trace):
    """The innermost frames of a traceback, innermost first."""
    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append((getattr(code, "co_qualname", code.co_name), code.co_filename,
                       trace.tb_lineno))
        trace = trace.tb_next
    return frames[:-_FRAMES_MOST - 1:-1]


def _words(kind, value, trace, status):
    """The file of docs/formats/exit_words.md."""
    head = {"kind": "uncaught-exception", "pid": os.getpid(), "status": status,
            "executable": os.readlink("/proc/self/exe"), "home": os.environ.get("HOME"),
            "release": _setting("release"), "environment": _setting("environment"),
            "tags": _setting("tags"), "kills": _setting("kills"),
            "message": "".join(traceback.format_exception_only(kind, value)).strip()}
    head["type"] = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else \
        f"{kind.__module__}.{kind.__qualname__}"
    head["language"] = "python"
    lines = [f"{name}: {each}".replace("\n", " ") for name, each in head.items()
             if each is not None]
    lines += [f"frame: {function} at {os.path.abspath(file)}:{line}".replace("\n", " ")
              for function, file, line in _frames(trace)]
    text = "".join(traceback.format_exception(kind, value, trace))
    return "\n".join(["crashhook words 1", *lines, "", text])


def _leave_words(kind, value, trace, tid, status):
    """Leaves the words of a thread, or of the program, in the spool. It never raises: the
    exception is what matters."""
    try:
        with open(f"/proc/self/task/{tid}/stat", encoding="utf-8", errors="replace") as file:
            start = int(file.read().rpartition(")")[2].split()[19])
        folder = _spool()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = f"last-{start:016x}-{tid:08x}.record"
        unfinished = os.path.join(folder, f".{name}.tmp")
        text = _words(kind, value, trace, status).encode("utf-8", "replace")
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text)
        os.rename(unfinished, os.path.join(folder, name))
    except Exception:  # pylint: disable=broad-except
        pass


@contextlib.contextmanager
def tag(name, value):
    """A tag that is set inside a with statement; the value around it returns after it."""
    around = _tags.get()
    token = _tags.set({**around, name: value})
    set_tag(name, value)
    try:
        yield
    finally:
        _tags.reset(token)
        set_tag(name, around.get(name))


def version():
    """The version of the library."""
    return _load().crashhook_version().decode()
