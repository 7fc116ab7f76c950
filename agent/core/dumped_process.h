// SPDX-License-Identifier: Apache-2.0
//
// A process that the kernel holds while it streams the process's core to a pipe or a
// socket of ours (core(5)).
//
// The stream begins with the ELF header, the program headers and the notes: the signal,
// and the registers of all threads. The kernel waits in its write until somebody reads
// on or closes the stream; as long as it waits, /proc/PID/mem has all of the memory. So
// the notes alone are read, and closing the stream releases the process. ptrace does
// not work on such a process: PTRACE_SEIZE succeeds, no thread stops, and the process
// is not reaped until the tracer ends.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "agent/live/facts.h"
#include "base/status.h"

// A dumped_process is what has to be opened or read with more rights than the reader of
// the process's memory has (base/system/confine.h).
struct dumped_process {
    pid_t pid;
    pid_t tid;      // one of its threads that still has memory; mostly the first
    int memory_fd;  // /proc/TID/mem
    int tasks_fd;   // /proc/PID/task
    int program_fd; // its program, opened as a path: no file system is asked. -1: none
    struct process_facts facts;
    struct host_facts host;
    struct text environment; // each variable followed by a NUL
    bool our_files; // its root folder and mounts are ours, or those that ours are a
                    // copy of
};

// dumped_process_open opens them, and has later reads of /proc/TID/maps and of its
// auxiliary vector use what is opened now (read_process_file_keep). CH_ERR_IO: its
// files in /proc may not be read; errno is set.
CH_CHECKED enum ch_status dumped_process_open(pid_t pid, struct dumped_process *out);
void dumped_process_close(struct dumped_process *process);

// dumped_notes_copy copies the start of the stream from, through the end of the notes,
// to the file to. CH_ERR_MALFORMED: it is no core. CH_ERR_TRUNCATED: it ends early.
// CH_ERR_IO: errno is set.
CH_CHECKED enum ch_status dumped_notes_copy(int from, int to);
