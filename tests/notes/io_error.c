/* Preloaded into a process: the disk of the store of notes gives errors.

   IO_ERROR_FROM: reads of notes.db at this offset or beyond fail with EIO; -1: none. IO_ERROR_WRITES: "1" has writes
   and syncs of all files of the store fail too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int of_store(int descriptor, int whole) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name, "/notes.db", 9)) return 0;
    return whole || !name[9];
}

ssize_t pread64(int descriptor, void *buffer, size_t count, off64_t offset) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread64");
    const char *from = getenv("IO_ERROR_FROM");
    if (from && atoll(from) >= 0 && offset >= atoll(from) && of_store(descriptor, 0)) {
        errno = EIO;
        return -1;
    }
    return real(descriptor, buffer, count, offset);
}

static int writes_fail(int descriptor) {
    const char *writes = getenv("IO_ERROR_WRITES");
    if (!writes || strcmp(writes, "1") || !of_store(descriptor, 1)) return 0;
    errno = EIO;
    return 1;
}

ssize_t pwrite64(int descriptor, const void *buffer, size_t count, off64_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    return writes_fail(descriptor) ? -1 : real(descriptor, buffer, count, offset);
}

int fdatasync(int descriptor) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    return writes_fail(descriptor) ? -1 : real(descriptor);
}
