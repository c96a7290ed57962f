// What moves bytes for a group, by its name: threads of this process, Gloo by its adaptor library,
// which is opened when it is first asked for.
#pragma once
#include <string>

#include "dist/provider.h"

namespace flambeau::dist {

const flam_dist_provider& local_provider();
const flam_dist_provider& gloo_provider();  // throws Error(library missing)
const flam_dist_provider& mpi_provider();

// "local", "gloo" or "mpi". Throws Error(invalid argument) for
// other names.
const flam_dist_provider& provider(const std::string& name);

}  // namespace flambeau::dist
