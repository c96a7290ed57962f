// Communicators of the stand-in for NCCL, and what it holds their users to: a call needs one that
// is alive, has been taken in, and whose device is the current one. One is never freed, so that a
// call after its end is seen.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mesh.h"
#include "sums.h"

namespace flambeau::dist::nccl {
struct CommTag {};
}  // namespace flambeau::dist::nccl

namespace nccl_standin {

namespace nccl = flambeau::dist::nccl;

struct Communicator : nccl::CommTag {
  std::string name;
  int device, size, rank;
  bool blocking;
  Mesh mesh;
  std::thread beginning;
  std::mutex work;  // held by what runs on its mesh
  std::vector<Operation> operations;
  std::atomic<int> state{nccl::in_progress};  // or the error that it has
  std::atomic<int> splits{0}, running{0};
  std::atomic<bool> taken_in{true};  // what was enqueued last
  std::atomic<bool> aborted{false}, dead{false}, finalized{false};

  // In the background, as one that does not block.
  void begin();
};

bool told(const char* what);  // by FLAMBEAU_STANDIN_NCCL
nccl::Result breach(const char* function, const std::string& text);
// What the next question for the last error is answered with.
nccl::Result failed(nccl::Result result, const std::string& text);
std::string last_error();

Communicator* add(std::unique_ptr<Communicator> made);
// Null, and a breach, where the function may not be called with it.
Communicator* alive(const char* function, nccl::Comm comm);
Communicator* idle(const char* function, nccl::Comm comm);  // and takes calls now

}  // namespace nccl_standin
