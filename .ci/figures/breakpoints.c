// Breakpoints that are used once, for a program into which this library is loaded (LD_PRELOAD).
//
// The file BREAKPOINTS has a kind and a hexadecimal address on each line, ordered by address: `s` and `f` are functions, and
// `w` are the value witnesses of a type. As soon as an `s` is called, every function has a breakpoint. When the program calls
// `exit`, the file CALLED receives the size of the type and the addresses of the functions that were called.
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { capacity = 1 << 16 };
static const unsigned char breakpoint = 0xcc;

static uintptr_t base, witnesses;
static uintptr_t functions[capacity];
static unsigned char instructions[capacity];
static size_t function_count;

static uintptr_t called[capacity];
static atomic_size_t called_count;
static atomic_flag has_started = ATOMIC_FLAG_INIT;

static _Noreturn void fail(const char *reason) {
    perror(reason);
    _exit(70);
}

static unsigned char *code(uintptr_t function) { return (unsigned char *)(base + function); }

static void reached(int number, siginfo_t *info, void *context) {
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    *pc -= 1;
    uintptr_t function = *pc - base;
    size_t index = 0, end = function_count;
    while (index < end) {
        size_t middle = (index + end) / 2;
        if (functions[middle] < function) index = middle + 1; else end = middle;
    }
    // This trap is one of the program's own.
    if (index == function_count || functions[index] != function) abort();
    if (!atomic_flag_test_and_set(&has_started))
        for (size_t i = 0; i < function_count; i++) *code(functions[i]) = breakpoint;
    // Another thread may have reached the breakpoint at the same time.
    unsigned char expected = breakpoint;
    if (__atomic_compare_exchange_n(
            code(function), &expected, instructions[index], 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        called[atomic_fetch_add(&called_count, 1)] = function;
}

static int make_writable(struct dl_phdr_info *object, size_t size, void *unused) {
    uintptr_t page = sysconf(_SC_PAGESIZE);
    base = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        uintptr_t start = (base + segment->p_vaddr) & -page, end = base + segment->p_vaddr + segment->p_memsz;
        if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC)) fail("mprotect");
    }
    // The first object is the program; the others are its libraries.
    return 1;
}

__attribute__((constructor)) static void set_breakpoints(void) {
    FILE *file = fopen(getenv("BREAKPOINTS"), "r");
    if (!file) fail("BREAKPOINTS");
    dl_iterate_phdr(make_writable, NULL);
    struct sigaction action = {.sa_sigaction = reached, .sa_flags = SA_SIGINFO};
    if (sigaction(SIGTRAP, &action, NULL)) fail("sigaction");
    char kind;
    uintptr_t address;
    while (fscanf(file, " %c %lx", &kind, &address) == 2) {
        if (kind == 'w') {
            witnesses = address;
            continue;
        }
        if (function_count == capacity) fail("too many functions");
        instructions[function_count] = *code(address);
        functions[function_count++] = address;
        if (kind == 's') *code(address) = breakpoint;
    }
    fclose(file);
}

// Replaces the function of the C library, which the program calls when it has the file.
void exit(int status) {
    // The other threads end the transfer.
    size_t count;
    do {
        count = called_count;
        usleep(500000);
    } while (count != called_count);
    FILE *file = fopen(getenv("CALLED"), "w");
    if (!file) fail("CALLED");
    // The size follows eight functions.
    fprintf(file, "%lu\n", ((size_t *)(base + witnesses))[8]);
    for (size_t i = 0; i < count; i++) fprintf(file, "%lx\n", called[i]);
    fclose(file);
    _exit(status);
}
