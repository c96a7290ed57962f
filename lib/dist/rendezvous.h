// How the ranks of a job find their store, by PyTorch's init methods: env://, tcp:// and file://.
#pragma once
#include <string>

#include "dist/store.h"

namespace flambeau::dist {

struct Rendezvous {
  Ref<Store> store;
  int64_t rank, size;
};

// A job that mpirun started: rank and size are MPI's.
Rendezvous find_others_by_mpi(Millis timeout);

// `rank` and `size` as given, where they are -1 as the environment or the method's query says.
Rendezvous find_others(const std::string& method, int64_t rank, int64_t size, Millis timeout);

}  // namespace flambeau::dist
