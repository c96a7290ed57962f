/* Preloaded into a program over libflambeau: ends it where the program's own code takes a lock
 * while the calling thread holds one of libflambeau's. That is how a callback under a lock shows
 * without the second thread that would make a deadlock of it: Python's interpreter, the host here,
 * takes locks of its own whenever it is entered from a worker or shared with other threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 64 };
static __thread pthread_mutex_t *held[most]; /* those of libflambeau's that this thread has */
static __thread int count;
static uintptr_t first, last; /* the library's code; 0 until it is loaded */

/* A forked child makes locks anew instead of giving back what was held over the fork. */
static void forget(void) { count = 0; }
__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, forget); }

static int find(struct dl_phdr_info *info, size_t size, void *unused) {
  int i;
  (void)size, (void)unused;
  if (!strstr(info->dlpi_name, "/libflambeau.so")) return 0;
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    last = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    first = info->dlpi_addr + p->p_vaddr;
  }
  return 1;
}

static int is_ours(const void *caller) {
  const uintptr_t at = (uintptr_t)caller;
  return first && at >= first && at < last;
}

/* Called when a library was loaded, which nothing else tells. */
void *dlopen(const char *name, int flags) {
  void *(*real)(const char *, int);
  void *handle;
  *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
  handle = real(name, flags);
  if (!first) dl_iterate_phdr(find, NULL);
  return handle;
}

static void check(void) {
  static const char text[] = "a lock was taken by the program inside of libflambeau's lock:\n";
  void *frames[64];
  if (!count) return;
  count = 0; /* what is printed may lock */
  if (write(2, text, sizeof text - 1) < 0) abort();
  backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
  abort();
}

static void taken(pthread_mutex_t *mutex) {
  if (count == most) abort();
  held[count++] = mutex;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*real)(pthread_mutex_t *);
  const int ours = is_ours(__builtin_return_address(0));
  int failed;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
  if (!ours) check();
  failed = real(mutex);
  if (!failed && ours) taken(mutex);
  return failed;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  static int (*real)(pthread_mutex_t *);
  int failed;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  failed = real(mutex);
  if (!failed && is_ours(__builtin_return_address(0))) taken(mutex);
  return failed;
}

/* By whatever code: a function that ends by giving back a lock leaves no address of its own. */
int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  static int (*real)(pthread_mutex_t *);
  int i = count;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
  while (i > 0 && held[i - 1] != mutex) --i;
  if (i > 0) {
    memmove(held + i - 1, held + i, (size_t)(count - i) * sizeof *held);
    --count;
  }
  return real(mutex);
}
