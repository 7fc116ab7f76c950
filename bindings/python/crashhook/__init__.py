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

__all__ = ["install", "set_tag", "set_data", "breadcrumb", "attach_file", "report_now", "tag",
           "version"]

# The members of struct crashhook_options after its size. The first version had nine.
_MEMBERS = ("url", "token_file", "spool", "agent", "timeout", "print", "release", "environment",
            "tags", "token", "spool_max", "signals", "unwind", "limit", "top", "threads", "images",
            "symbolize", "hold", "mode", "handlers", "preset", "arguments", "sanitize", "memory",
            "own", "rate", "log", "kills", "starts")
_FIRST_MEMBERS = 9


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_char_p) for name in _MEMBERS]


_library = None
_tags = contextvars.ContextVar("crashhook_tags", default={})


def _load():
    global _library
    if _library is None:
        library = ctypes.CDLL(os.environ.get("LIBCRASHHOOK", "libcrashhook.so.1"),
                              mode=ctypes.RTLD_GLOBAL)
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
