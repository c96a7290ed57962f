/* What libstdc++, libgcc and the compiler take from the C library since glibc 2.28, for the library
 * that has to run there (see glibc.py). Each does the same by older means, and uses the newer one
 * where the system has it and it is better.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* 2.32. Reference counts are changed atomically where this is 0. */
HIDDEN char __libc_single_threaded = 0;

/* 2.33. The kernel's struct is the C library's on x86-64. */
struct stat;
HIDDEN int fstat(int file, struct stat *out) { return (int)syscall(SYS_fstat, file, out); }
HIDDEN int fstat64(int file, struct stat *out) { return (int)syscall(SYS_fstat, file, out); }
HIDDEN int stat(const char *path, struct stat *out) { return (int)syscall(SYS_stat, path, out); }
HIDDEN int lstat(const char *path, struct stat *out) { return (int)syscall(SYS_lstat, path, out); }

/* 2.36. std::random_device asks for it, which the library does not use but libstdc++ carries. */
HIDDEN uint32_t arc4random(void) {
  uint32_t value;

  while (syscall(SYS_getrandom, &value, sizeof value, 0) != (long)sizeof value) continue;
  return value;
}

/* 2.38. What newer headers call for strtol and its kin, with numbers that begin with 0b. */
#define OLDER(result, name)                                                   \
  result older_##name(const char *text, char **end, int base) __asm__(#name); \
  HIDDEN result __isoc23_##name(const char *text, char **end, int base) {     \
    return older_##name(text, end, base);                                     \
  }
OLDER(long, strtol)
OLDER(long long, strtoll)
OLDER(unsigned long, strtoul)
OLDER(unsigned long long, strtoull)

/* A deadline on any clock as one on the clock of the older functions; 0, or why not. */
static int as_real_time(clockid_t clock, const struct timespec *deadline, struct timespec *real) {
  struct timespec now;
  int64_t left;

  if (clock_gettime(clock, &now) || clock_gettime(CLOCK_REALTIME, real)) return errno;
  left = (int64_t)(deadline->tv_sec - now.tv_sec) * 1000000000 + deadline->tv_nsec - now.tv_nsec;
  if (left < 0) left = 0;
  left += real->tv_nsec;
  real->tv_sec += (time_t)(left / 1000000000);
  real->tv_nsec = (long)(left % 1000000000);
  return 0;
}

/* 2.30. */
HIDDEN int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *deadline) {
  typedef int wait_fn(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  wait_fn *newer = (wait_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  struct timespec real;
  int problem;

  if (newer) return newer(cond, mutex, clock, deadline);
  problem = as_real_time(clock, deadline, &real);
  return problem ? problem : pthread_cond_timedwait(cond, mutex, &real);
}

HIDDEN int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *deadline) {
  typedef int lock_fn(pthread_mutex_t *, clockid_t, const struct timespec *);
  lock_fn *newer = (lock_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "pthread_mutex_clocklock");
  struct timespec real;
  int problem;

  if (newer) return newer(mutex, clock, deadline);
  problem = as_real_time(clock, deadline, &real);
  return problem ? problem : pthread_mutex_timedlock(mutex, &real);
}

#if __GLIBC_PREREQ(2, 35)
/* 2.35. Where the unwinder finds the object that holds an address, and its table of frames. */
struct search {
  uintptr_t address;
  struct dl_find_object *out;
};

static int holds(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  uintptr_t start = 0, end = 0, frames = 0;
  int i;

  (void)size;
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    const uintptr_t from = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = from;
    if (part->p_type == PT_LOAD && search->address - from < part->p_memsz) {
      start = from;
      end = from + part->p_memsz;
    }
  }
  if (!end || !frames) return 0;
  search->out->dlfo_flags = 0;
  search->out->dlfo_map_start = (void *)start;
  search->out->dlfo_map_end = (void *)end;
  search->out->dlfo_link_map = NULL;
  search->out->dlfo_eh_frame = (void *)frames;
  return 1;
}

HIDDEN int _dl_find_object(void *address, struct dl_find_object *out) {
  typedef int find_fn(void *, struct dl_find_object *);
  static find_fn *newer;
  static int looked;
  struct search search = {(uintptr_t)address, out};

  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    find_fn *found = (find_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
    __atomic_store_n(&newer, found, __ATOMIC_RELAXED);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
  }
  if (newer) return newer(address, out);
  return dl_iterate_phdr(holds, &search) ? 0 : -1;
}
#endif
