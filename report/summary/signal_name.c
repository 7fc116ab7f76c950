// SPDX-License-Identifier: Apache-2.0
#include "report/summary/signal_name.h"

#include "shared/signals.h"

struct signal_text {
    const char *name;
    const char *description;
};

#define SIGNAL_TEXT(word, role, text) [SIG##word] = { "SIG" #word, text },

static const struct signal_text texts[SIGNALS_END] = { SIGNALS(SIGNAL_TEXT) };

struct code_name {
    int number; // 0: any signal
    int code;
    const char *name;
};

static const struct code_name codes[] = {
    { SIGSEGV, SEGV_MAPERR, "SEGV_MAPERR" },
    { SIGSEGV, SEGV_ACCERR, "SEGV_ACCERR" },
    { SIGSEGV, 3, "SEGV_BNDERR" },
    { SIGSEGV, 4, "SEGV_PKUERR" },
    { SIGSEGV, 8, "SEGV_MTEAERR" },
    { SIGSEGV, 9, "SEGV_MTESERR" },
    { SIGSEGV, 10, "SEGV_CPERR" },
    { SIGBUS, BUS_ADRALN, "BUS_ADRALN" },
    { SIGBUS, BUS_ADRERR, "BUS_ADRERR" },
    { SIGBUS, BUS_OBJERR, "BUS_OBJERR" },
    { SIGBUS, 4, "BUS_MCEERR_AR" },
    { SIGBUS, 5, "BUS_MCEERR_AO" },
    { SIGILL, ILL_ILLOPC, "ILL_ILLOPC" },
    { SIGILL, ILL_ILLOPN, "ILL_ILLOPN" },
    { SIGILL, ILL_ILLADR, "ILL_ILLADR" },
    { SIGILL, ILL_ILLTRP, "ILL_ILLTRP" },
    { SIGILL, ILL_PRVOPC, "ILL_PRVOPC" },
    { SIGILL, ILL_PRVREG, "ILL_PRVREG" },
    { SIGILL, ILL_COPROC, "ILL_COPROC" },
    { SIGILL, ILL_BADSTK, "ILL_BADSTK" },
    { SIGFPE, FPE_INTDIV, "FPE_INTDIV" },
    { SIGFPE, FPE_INTOVF, "FPE_INTOVF" },
    { SIGFPE, FPE_FLTDIV, "FPE_FLTDIV" },
    { SIGFPE, FPE_FLTOVF, "FPE_FLTOVF" },
    { SIGFPE, FPE_FLTUND, "FPE_FLTUND" },
    { SIGFPE, FPE_FLTRES, "FPE_FLTRES" },
    { SIGFPE, FPE_FLTINV, "FPE_FLTINV" },
    { SIGFPE, FPE_FLTSUB, "FPE_FLTSUB" },
    { SIGTRAP, 1, "TRAP_BRKPT" },
    { SIGTRAP, 2, "TRAP_TRACE" },
    { SIGTRAP, 3, "TRAP_BRANCH" },
    { SIGTRAP, 4, "TRAP_HWBKPT" },
    { SIGSYS, 1, "SYS_SECCOMP" },
    { 0, SI_USER, "SI_USER" },
    { 0, SI_KERNEL, "SI_KERNEL" },
    { 0, SI_QUEUE, "SI_QUEUE" },
    { 0, SI_TIMER, "SI_TIMER" },
    { 0, SI_MESGQ, "SI_MESGQ" },
    { 0, SI_ASYNCIO, "SI_ASYNCIO" },
    { 0, SI_TKILL, "SI_TKILL" },
};

const char *signal_name(int number)
{
    return number > 0 && number < SIGNALS_END ? texts[number].name : NULL;
}

const char *signal_description(int number)
{
    return signal_name(number) != NULL ? texts[number].description : "signal";
}

const char *signal_code_name(int number, int code)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i].code == code &&
            (codes[i].number == number || codes[i].number == 0))
            return codes[i].name;
    }
    return NULL;
}
