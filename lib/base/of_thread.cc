// One pthread key for all objects of all threads: its value is the thread's list, and the C library
// comes again for a list that was begun while it dropped the one before.
#include "base/of_thread.h"

#include <pthread.h>

#include "base/error.h"

namespace flambeau::detail {
namespace {

struct Entry {
  Entry* next;
  void (*drop)(void*);
  void* object;
};

void drop_all(void* list) {
  auto* entry = static_cast<Entry*>(list);
  while (entry) {
    entry->drop(entry->object);
    delete std::exchange(entry, entry->next);
  }
}

pthread_key_t key() {
  static const pthread_key_t made = [] {
    pthread_key_t k{};
    const bool ok = pthread_key_create(&k, drop_all) == 0;
    check(ok, Code::out_of_host_memory, "no key is left for what threads keep");
    return k;
  }();
  return made;
}

}  // namespace

void at_thread_end(void (*drop)(void*), void* object) {
  const pthread_key_t k = key();
  auto entry =
      std::make_unique<Entry>(Entry{static_cast<Entry*>(pthread_getspecific(k)), drop, object});
  const bool ok = pthread_setspecific(k, entry.get()) == 0;
  check(ok, Code::out_of_host_memory, "no room for what a thread keeps");
  static_cast<void>(entry.release());
}

}  // namespace flambeau::detail
