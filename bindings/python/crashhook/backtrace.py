# SPDX-License-Identifier: Apache-2.0
"""The native stack of the calling thread with names and lines, by libcrashhook-backtrace.

    from crashhook import backtrace
    print(backtrace.capture().symbolicate())

It has the functions of the interpreter, of extension modules and of C libraries. The library
is loaded by the first capture: the file that LIBCRASHHOOK_BACKTRACE names, the one of the
wheel, or libcrashhook-backtrace.so.1. crashhook/backtrace.h says what each function promises.
"""

import collections
import ctypes
import json
import os

from . import bundled

__all__ = ["capture", "Backtrace", "Frame", "SymbolicatedBacktrace"]

_NAME = "libcrashhook-backtrace.so.1"
_DEFAULT_OPTIONS = 7  # CRASHHOOK_SYMBOLICATION_DEFAULT

# function, file, line and image are None where they are not known.
Frame = collections.namedtuple("Frame", "function file line image address inlined")


class _CaptureOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("algorithm", ctypes.c_int),
                ("limit", ctypes.c_size_t), ("offset", ctypes.c_size_t),
                ("top", ctypes.c_size_t)]


_library = None


def _load():
    global _library
    if _library is None:
        path = os.environ.get("LIBCRASHHOOK_BACKTRACE") or bundled(f"lib/{_NAME}") or _NAME
        library = ctypes.CDLL(path)
        pointer, out = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
        library.crashhook_backtrace_capture.argtypes = [ctypes.POINTER(_CaptureOptions), out]
        library.crashhook_backtrace_destroy.argtypes = [pointer]
        library.crashhook_backtrace_symbolicate.argtypes = [pointer, pointer, ctypes.c_uint, out]
        library.crashhook_symbolicated_backtrace_destroy.argtypes = [pointer]
        for function in (library.crashhook_symbolicated_backtrace_format,
                         library.crashhook_symbolicated_backtrace_to_json):
            function.restype = pointer  # a string to be freed
        library.crashhook_symbolicated_backtrace_format.argtypes = [pointer, ctypes.c_int]
        library.crashhook_symbolicated_backtrace_to_json.argtypes = [pointer]
        _library = library
    return _library


_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]


def _check(error, what):
    if error != 0:
        raise OSError(error, f"{what}: {os.strerror(error)}")


def _take_text(address):
    """The text at address, which is freed."""
    if not address:
        raise MemoryError
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        _libc.free(address)


class Backtrace:
    """A captured stack."""

    def __init__(self, pointer):
        self._pointer = pointer
        self._destroy = _library.crashhook_backtrace_destroy

    def __del__(self):
        self._destroy(self._pointer)

    def symbolicate(self):
        """The same stack with names, lines and inlined calls."""
        made = ctypes.c_void_p()
        _check(_library.crashhook_backtrace_symbolicate(self._pointer, None, _DEFAULT_OPTIONS,
                                                        ctypes.byref(made)), "no names")
        return SymbolicatedBacktrace(made)


class SymbolicatedBacktrace:
    """A stack with names. As text it is what people read; frames has its frames, innermost
    first, and to_json() all that is known."""

    def __init__(self, pointer):
        self._pointer = pointer
        self._destroy = _library.crashhook_symbolicated_backtrace_destroy

    def __del__(self):
        self._destroy(self._pointer)

    def __str__(self):
        return _take_text(_library.crashhook_symbolicated_backtrace_format(self._pointer, 0))

    def to_json(self):
        return _take_text(_library.crashhook_symbolicated_backtrace_to_json(self._pointer))

    @property
    def frames(self):
        found = []
        for frame in json.loads(self.to_json())["frames"]:
            place = frame.get("sourceLocation", {})
            address = frame.get("address")
            found.append(Frame(frame.get("name"), place.get("file"), place.get("line"),
                               frame.get("image"), address and int(address, 16),
                               frame.get("inlined", False)))
        return found


def capture(limit=64, offset=0):
    """Captures the calling thread: at most limit frames, without the innermost offset ones."""
    options = _CaptureOptions(ctypes.sizeof(_CaptureOptions), 0, limit, offset, 16)
    made = ctypes.c_void_p()
    _check(_load().crashhook_backtrace_capture(ctypes.byref(options), ctypes.byref(made)),
           "no capture")
    return Backtrace(made)
