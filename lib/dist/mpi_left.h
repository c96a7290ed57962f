// Communicators of MPI that this rank has left. MPI frees one when all of its ranks ask for it, and
// who leaves a group waits for nobody: each is freed later, when another one is made or left and
// all have come to the end of it. Without that a job that makes groups again and again runs out of
// communicators.
#pragma once
#include "dist/mpi_library.h"

namespace flambeau::dist {

void mpi_leave(const MpiLibrary& m, mpi::Handle communicator);
void mpi_free_left(const MpiLibrary& m);  // those that all have left

}  // namespace flambeau::dist
