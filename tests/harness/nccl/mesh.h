// How ranks of the stand-in for NCCL reach each other, threads of one process or of several: a
// socket between each two. Messages arrive in their order, each with what the sender takes it for.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace nccl_standin {

struct Label {  // of a message: alike where both ranks called the same
  int32_t kind, datatype, operation, root;
  uint64_t count;
  bool operator==(const Label&) const = default;
};

struct Message {
  int peer;
  bool sends;
  void* data;
  size_t bytes;
  Label label;
  size_t done = 0;  // of the label and the bytes
  Label other{};    // as it came
};

enum class End { well, aborted, lost, differs };

class Mesh {
 public:
  ~Mesh() { close(); }
  void close();
  // Meets the others of that name; aborted where that comes first. `differs`: the name was used
  // before, or the others have another size.
  End connect(const std::string& name, int size, int rank, const std::atomic<bool>& aborted);
  // All of them at once, those with one rank and direction in their order. The one that differs is
  // left in `culprit`.
  End exchange(std::vector<Message>& messages, const std::atomic<bool>& aborted,
               const Message** culprit = nullptr);

 private:
  End accept_others(int listener, int size, int rank, const std::atomic<bool>& aborted);
  bool advance(Message& m, bool& lost);

  std::vector<int> sockets_;  // by rank; -1: itself
};

}  // namespace nccl_standin
