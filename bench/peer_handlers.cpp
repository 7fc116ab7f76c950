// SPDX-License-Identifier: Apache-2.0
//
// In-process crash reporters that Debian has, as a library to preload: bench/crash.py
// compiles it once for each, with PEER_ABSEIL, PEER_GLOG or PEER_BACKWARD defined. Each
// prints the crashed thread's frames to standard error.
#if defined(PEER_ABSEIL)
#include <absl/debugging/failure_signal_handler.h>
#include <absl/debugging/symbolize.h>

__attribute__((constructor)) static void install()
{
    absl::InitializeSymbolizer("");
    absl::InstallFailureSignalHandler(absl::FailureSignalHandlerOptions());
}
#elif defined(PEER_GLOG)
#include <glog/logging.h>

__attribute__((constructor)) static void install()
{
    google::InstallFailureSignalHandler();
}
#else
#define BACKWARD_HAS_DW 1
#include <backward.hpp>

static backward::SignalHandling handling;
#endif
