// Records what a process does to the files of one folder, below SQLite and in
// the order in which it happens. For the power-cut test, by LD_PRELOAD:
//
//   RECORDER_DIR   only files below this folder, without a -shm of it
//   RECORDER_LOG   where to append the records
//
// A record is: kind (1 byte), inode, offset (8 bytes each), length of path,
// length of data (4 bytes each), path, data; little-endian. It is written in one
// write to a file opened for appending, so that whoever else appends there stands
// in the true order. Flushes are recorded and not carried out: it is the record
// that counts, and it makes a run quick. Everything goes to the kernel by
// syscall(), so no call passes here twice.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *dir;
static size_t dir_len;
static int out = -1;

__attribute__((constructor)) static void begin(void) {
	const char *log = getenv("RECORDER_LOG");
	dir = getenv("RECORDER_DIR");
	if (!log || !dir)
		return;
	dir_len = strlen(dir);
	out = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

// ours tells whether path is to be recorded.
static int ours(const char *path) {
	size_t n = strlen(path);
	if (out < 0 || strncmp(path, dir, dir_len) || (path[dir_len] != '/' && path[dir_len]))
		return 0;
	return !(n > 4 && !strcmp(path + n - 4, "-shm"));
}

// path_of names an open file; what has no name any more is not recorded.
static int path_of(int fd, char *path) {
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	return ours(path) && !strstr(path, " (deleted)");
}

static void put(char kind, uint64_t ino, uint64_t off, const char *path, const void *data, uint32_t len) {
	unsigned char head[25];
	uint32_t path_len = strlen(path);
	head[0] = kind;
	memcpy(head + 1, &ino, 8);
	memcpy(head + 9, &off, 8);
	memcpy(head + 17, &path_len, 4);
	memcpy(head + 21, &len, 4);
	struct iovec v[3] = {{head, sizeof head}, {(void *)path, path_len}, {(void *)data, len}};
	ssize_t want = sizeof head + path_len + len;
	if (syscall(SYS_writev, out, v, 3) != want)
		abort(); // a gap in the record would prove nothing
}

static uint64_t inode(int fd) {
	struct stat st;
	return fstat(fd, &st) ? 0 : st.st_ino;
}

static ssize_t store(int fd, const void *buf, size_t n, off_t off, int at) {
	char path[PATH_MAX];
	if (out < 0 || !path_of(fd, path))
		return at ? syscall(SYS_pwrite64, fd, buf, n, off) : syscall(SYS_write, fd, buf, n);
	pthread_mutex_lock(&lock);
	if (!at)
		off = syscall(SYS_lseek, fd, 0, SEEK_CUR);
	ssize_t done = at ? syscall(SYS_pwrite64, fd, buf, n, off) : syscall(SYS_write, fd, buf, n);
	int err = errno;
	if (done > 0)
		put('w', inode(fd), off, path, buf, done);
	pthread_mutex_unlock(&lock);
	errno = err;
	return done;
}

ssize_t write(int fd, const void *buf, size_t n) { return store(fd, buf, n, 0, 0); }
ssize_t pwrite(int fd, const void *buf, size_t n, off_t off) { return store(fd, buf, n, off, 1); }
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off) { return store(fd, buf, n, off, 1); }

static int cut(int fd, off_t size) {
	char path[PATH_MAX];
	if (out < 0 || !path_of(fd, path))
		return syscall(SYS_ftruncate, fd, size);
	pthread_mutex_lock(&lock);
	int done = syscall(SYS_ftruncate, fd, size), err = errno;
	if (!done)
		put('t', inode(fd), size, path, 0, 0);
	pthread_mutex_unlock(&lock);
	errno = err;
	return done;
}

int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off64_t size) { return cut(fd, size); }

static int flush(int fd, long call) {
	char path[PATH_MAX];
	struct stat st;
	if (out < 0 || !path_of(fd, path) || fstat(fd, &st))
		return syscall(call, fd);
	pthread_mutex_lock(&lock);
	put(S_ISDIR(st.st_mode) ? 'd' : 's', st.st_ino, 0, path, 0, 0);
	pthread_mutex_unlock(&lock);
	return 0;
}

int fsync(int fd) { return flush(fd, SYS_fsync); }
int fdatasync(int fd) { return flush(fd, SYS_fdatasync); }

int unlink(const char *path) {
	if (out < 0 || !ours(path))
		return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	pthread_mutex_lock(&lock);
	int done = syscall(SYS_unlinkat, AT_FDCWD, path, 0), err = errno;
	if (!done)
		put('u', 0, 0, path, 0, 0);
	pthread_mutex_unlock(&lock);
	errno = err;
	return done;
}

int rename(const char *from, const char *to) {
	if (out < 0 || !ours(from))
		return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	pthread_mutex_lock(&lock);
	int done = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0), err = errno;
	if (!done)
		put('r', 0, 0, from, to, strlen(to));
	pthread_mutex_unlock(&lock);
	errno = err;
	return done;
}
