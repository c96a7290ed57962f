// See mpi_library.h.
#include "dist/mpi_library.h"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "device/library.h"

namespace flambeau::dist {
namespace {

constexpr const char* kSonames[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"};
constexpr const char* kWheels[] = {"../.."};  // PyPI's mpich lies in the environment's lib
constexpr const char* kFix =
    "install an MPI with the standard ABI, such as pip install mpich, and start with its mpirun";

MpiLibrary bound() {
  const LibrarySpec spec{"MPI", kSonames, kWheels, kFix};
  const Library library = Library::open(spec);
  MpiLibrary m{};
#define FLAM_BIND(name) library.bind(m.name, "MPI_" #name)
  FLAM_BIND(Init_thread);
  FLAM_BIND(Initialized);
  FLAM_BIND(Finalize);
  FLAM_BIND(Finalized);
  FLAM_BIND(Comm_rank);
  FLAM_BIND(Comm_size);
  FLAM_BIND(Comm_group);
  FLAM_BIND(Group_incl);
  FLAM_BIND(Group_free);
  FLAM_BIND(Comm_create_group);
  FLAM_BIND(Comm_free);
  FLAM_BIND(Cancel);
  FLAM_BIND(Query_thread);
  FLAM_BIND(Comm_set_errhandler);
  FLAM_BIND(Comm_get_attr);
  FLAM_BIND(Error_string);
  FLAM_BIND(Bcast);
  FLAM_BIND(Iallreduce);
  FLAM_BIND(Ibarrier);
  FLAM_BIND(Ibcast_c);
  FLAM_BIND(Iallgatherv_c);
  FLAM_BIND(Ialltoallv_c);
  FLAM_BIND(Igather_c);
  FLAM_BIND(Iscatter_c);
  FLAM_BIND(Isend_c);
  FLAM_BIND(Irecv_c);
  FLAM_BIND(Test);
#undef FLAM_BIND
  return m;
}

const MpiLibrary& functions() {
  static const MpiLibrary library = bound();
  return library;
}

void must(int code, const char* call) {
  check(code == 0, Code::internal, "MPI_", call, " failed: ", mpi_error(code));
}

std::atomic<bool> g_failed{false};

void finalize() {  // at exit
  int ended = 0;
  if (g_failed) return;
  if (functions().Finalized(&ended) == 0 && !ended) functions().Finalize();
}

void initialise(const MpiLibrary& m) {
  int there = 0, ended = 0, level = 0;
  must(m.Finalized(&ended), "Finalized");
  check(!ended, Code::unsupported, "MPI has ended in this process and cannot be started again");
  must(m.Initialized(&there), "Initialized");
  if (there)
    must(m.Query_thread(&level), "Query_thread");
  else
    must(m.Init_thread(nullptr, nullptr, mpi::kThreadMultiple, &level), "Init_thread");
  check(level >= mpi::kThreadMultiple, Code::unsupported,
        "this MPI serves one thread at a time; a group needs MPI_THREAD_MULTIPLE");
  m.Comm_set_errhandler(mpi::kWorld, mpi::kErrorsReturn);
  if (!there) std::atexit(finalize);  // else who began it ends it
}

std::string random_key() {
  unsigned char bytes[16];
  check(::getrandom(bytes, sizeof bytes, 0) == ssize_t(sizeof bytes), Code::internal,
        "the system gave no random bytes for a job's key");
  std::string text;
  for (const unsigned char b : bytes) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

// Another launcher's processes are each a job of one to MPI, and would train beside each other; a
// job of several is MPI's own, whatever stands in the environment.
void check_size(int size) {
  if (size > 1) return;
  for (const char* name :
       {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* said = std::getenv(name);
    const int other = said ? std::atoi(said) : 0;
    if (other <= 1) continue;
    throw Error(Code::invalid_argument,
                cat_text("init_process_group(\"mpi\"): MPI has started 1 process, but ", name,
                         " is ", other),
                "MPI takes ranks and their number from its own mpirun, not from another launcher",
                cat_text("start it by this MPI's mpirun -n ", other, ", or take the backend gloo"));
  }
}

}  // namespace

std::string mpi_error(int code) {
  char text[1024] = {};
  int length = 0;
  return functions().Error_string(code, text, &length) == 0 ? std::string(text, size_t(length))
                                                            : cat_text("error ", code);
}

void mpi_open() { functions(); }

void mpi_has_failed() { g_failed = true; }

bool mpi_failed() { return g_failed; }

const MpiLibrary& mpi_library() {
  static const bool begun = [] {
    initialise(functions());
    return true;
  }();
  (void)begun;
  return functions();
}

MpiJob mpi_job(Millis timeout) {
  const MpiLibrary& m = mpi_library();
  MpiJob job{nullptr, 0, 1};
  must(m.Comm_rank(mpi::kWorld, &job.rank), "Comm_rank");
  must(m.Comm_size(mpi::kWorld, &job.size), "Comm_size");
  check_size(job.size);
  struct {
    char host[256], key[64];
    int32_t port;
  } where{};
  TcpOptions options;
  options.is_server = job.rank == 0;
  options.wait_for_workers = false;
  options.timeout = timeout;
  if (options.is_server) {
    ::gethostname(where.host, sizeof where.host - 1);
    std::strncpy(where.key, random_key().c_str(), sizeof where.key - 1);
    options.host = where.host;
    options.key = where.key;
    job.store = tcp_store(options);
    where.port = tcp_port(*job.store);
  }
  must(m.Bcast(&where, int(sizeof where), mpi::kByte, 0, mpi::kWorld), "Bcast");
  if (options.is_server) return job;
  options.host = where.host;
  options.key = where.key;
  options.port = uint16_t(where.port);
  job.store = tcp_store(options);
  return job;
}

}  // namespace flambeau::dist
