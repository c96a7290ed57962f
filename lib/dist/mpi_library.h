// MPI by the standard ABI of MPI 5.0 (chapter 20 of the standard): one library of any maker, opened
// on first use and called by the numbers that the standard gives its handles. Initialised at most
// once for the whole process, for calls from any thread; an error is a result here and never ends
// the program.
#pragma once
#include <cstdint>
#include <string>

#include "dist/store.h"

namespace flambeau::dist {

namespace mpi {

using Handle = void*;  // communicators, datatypes, requests, groups: all pointers in the ABI
using Count = int64_t;
using Offset = intptr_t;
struct Status {
  int source, tag, error, reserved[5];
};

inline Handle handle(uintptr_t number) { return reinterpret_cast<Handle>(number); }
inline const Handle kWorld = handle(0x101), kErrorsReturn = handle(0x143),
                    kNoRequest = handle(0x180), kByte = handle(0x247), kUint64 = handle(0x259),
                    kMax = handle(0x23);
inline constexpr int kAnySource = -1, kThreadMultiple = 4096, kTagUpperBound = 501;

}  // namespace mpi

// The functions that are called, by MPI's names.
struct MpiLibrary {
  int (*Init_thread)(int*, char***, int, int*);
  int (*Initialized)(int*);
  int (*Finalize)();
  int (*Finalized)(int*);
  int (*Comm_rank)(mpi::Handle, int*);
  int (*Comm_size)(mpi::Handle, int*);
  int (*Comm_group)(mpi::Handle, mpi::Handle*);
  int (*Group_incl)(mpi::Handle, int, const int*, mpi::Handle*);
  int (*Group_free)(mpi::Handle*);
  int (*Comm_create_group)(mpi::Handle, mpi::Handle, int, mpi::Handle*);
  int (*Comm_free)(mpi::Handle*);
  int (*Cancel)(mpi::Handle*);
  int (*Query_thread)(int*);
  int (*Comm_set_errhandler)(mpi::Handle, mpi::Handle);
  int (*Comm_get_attr)(mpi::Handle, int, void*, int*);
  int (*Error_string)(int, char*, int*);
  int (*Bcast)(void*, int, mpi::Handle, int, mpi::Handle);
  int (*Iallreduce)(const void*, void*, int, mpi::Handle, mpi::Handle, mpi::Handle, mpi::Handle*);
  int (*Ibarrier)(mpi::Handle, mpi::Handle*);
  int (*Ibcast_c)(void*, mpi::Count, mpi::Handle, int, mpi::Handle, mpi::Handle*);
  int (*Iallgatherv_c)(const void*, mpi::Count, mpi::Handle, void*, const mpi::Count*,
                       const mpi::Offset*, mpi::Handle, mpi::Handle, mpi::Handle*);
  int (*Ialltoallv_c)(const void*, const mpi::Count*, const mpi::Offset*, mpi::Handle, void*,
                      const mpi::Count*, const mpi::Offset*, mpi::Handle, mpi::Handle,
                      mpi::Handle*);
  int (*Igather_c)(const void*, mpi::Count, mpi::Handle, void*, mpi::Count, mpi::Handle, int,
                   mpi::Handle, mpi::Handle*);
  int (*Iscatter_c)(const void*, mpi::Count, mpi::Handle, void*, mpi::Count, mpi::Handle, int,
                    mpi::Handle, mpi::Handle*);
  int (*Isend_c)(const void*, mpi::Count, mpi::Handle, int, int, mpi::Handle, mpi::Handle*);
  int (*Irecv_c)(void*, mpi::Count, mpi::Handle, int, int, mpi::Handle, mpi::Handle*);
  int (*Test)(mpi::Handle*, int*, mpi::Status*);
};

void mpi_open();  // and not initialised: says whether there is one

// Opened and initialised. Throws Error(library missing) with the line that installs one, and
// Error(unsupported) where MPI has ended already or serves one thread only.
const MpiLibrary& mpi_library();
std::string mpi_error(int code);
void mpi_has_failed();  // its end, in which all ranks wait for each other, is left to mpirun
bool mpi_failed();

// The job as mpirun started it: rank, size, and a store that the first rank holds.
struct MpiJob {
  Ref<Store> store;
  int rank, size;
};
MpiJob mpi_job(Millis timeout);

}  // namespace flambeau::dist
