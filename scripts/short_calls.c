// Preloaded by faults.py: every read and write of more than one byte handles only half of what was asked for, as the
// system may at any time. At the end, the number of such calls is appended to the file that SHORT_CALLS names.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static size_t half(size_t bytes) {
    if (bytes < 2) return bytes;
    atomic_fetch_add(&calls, 1);
    return bytes / 2;
}

#define SHORTENED(name, result, parameters, ...)                        \
    result name parameters {                                            \
        static result(*real) parameters;                                \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
        return real(__VA_ARGS__);                                       \
    }

SHORTENED(read, ssize_t, (int file, void *to, size_t bytes), file, to, half(bytes))
SHORTENED(write, ssize_t, (int file, const void *from, size_t bytes), file, from, half(bytes))
SHORTENED(pread64, ssize_t, (int file, void *to, size_t bytes, off64_t at), file, to, half(bytes), at)
SHORTENED(pwrite64, ssize_t, (int file, const void *from, size_t bytes, off64_t at), file, from, half(bytes), at)

// Only the first piece, and half of that.
ssize_t writev(int file, const struct iovec *pieces, int count) {
    for (int at = 0; at < count; at++)
        if (pieces[at].iov_len) return write(file, pieces[at].iov_base, pieces[at].iov_len);
    return 0;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("SHORT_CALLS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}
