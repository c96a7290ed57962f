// The collectives and the two calls between a pair of ranks, one function each.
#pragma once
#include "dist/gloo/communicator.h"

namespace flambeau::gloo_adaptor {

void all_reduce(Communicator& c, const flam_dist_call& call);
void reduce(Communicator& c, const flam_dist_call& call);
void broadcast(Communicator& c, const flam_dist_call& call);
void all_gather(Communicator& c, const flam_dist_call& call);
void reduce_scatter(Communicator& c, const flam_dist_call& call);
void all_to_all(Communicator& c, const flam_dist_call& call);
void gather(Communicator& c, const flam_dist_call& call);
void scatter(Communicator& c, const flam_dist_call& call);
void barrier(Communicator& c, const flam_dist_call& call);

void* send(Communicator& c, const flam_dist_call& call);
void* recv(Communicator& c, const flam_dist_call& call);
// False where the time is over and the request stays.
bool wait(Communicator& c, void* request, int64_t timeout_ms, bool stays, int32_t* peer);

}  // namespace flambeau::gloo_adaptor
