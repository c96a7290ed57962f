// What a TCP store's two ends say to each other: messages in frames, a length of 4 bytes before
// each. Every length is held to its bound before memory is asked for, and memory grows with what
// has arrived, never with what is announced, so that a stranger's bytes cost what they weigh.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dist/table.h"

namespace flambeau::dist {

enum class Op : uint8_t {
  hello = 1,    // the first message: number is kProtocol, the value the job's key
  set,          // one key, one value
  get,          // one key; number is the timeout in milliseconds, of wait as well
  append,       // one key, one value
  add,          // one key; number is what to add
  compare_set,  // one key; values are what is expected and what is desired
  wait,         // keys
  check,        // keys
  remove,       // one key
  num_keys,
  will,  // one key, one value
  withdraw,
  // Answers; the number or the value is the result.
  ok,
  late,      // keys are those that are missing
  refused,   // the value says why
  stranger,  // the job's key is another one
  // Of a file's log alone: number is a last will's.
  joined,
  left,
  executed,
  // A request again, below the others so that their numbers stay; the answer's value is key_list's.
  list_keys
};

struct Message {
  Op op{};
  uint32_t id = 0;  // of a request, which its answer repeats
  int64_t number = 0;
  Keys keys;
  std::vector<std::string> values;
};

inline constexpr int64_t kProtocol = 0x666c616d'00000001;  // "flam", version 1
inline constexpr int64_t kWorker = 0x10000;  // of a hello's number: one that is waited for
inline constexpr size_t kMaxJobKey = 4096;
// Of a message's body: what the largest call needs, and what a hello does.
inline constexpr size_t kMaxBody = 2 * kMaxValue + 65536;
inline constexpr size_t kMaxHello = kMaxJobKey + 64;

std::string encode(const Message& message);  // with its length before it

// None for bytes that are no message, or none of those that `op` takes.
std::optional<Message> decode(std::string_view body);

// Bytes as they arrive, and the messages in them.
class Inbox {
 public:
  enum class Found : int8_t { nothing, message, nonsense };

  void add(std::string_view bytes) { bytes_.append(bytes); }
  // Takes the next message, whose body has at most `bound` bytes. After nonsense the rest means
  // nothing: the connection is of no more use.
  Found next(Message& message, size_t bound);
  size_t size() const { return bytes_.size() - taken_; }

 private:
  void let_go();  // of what was taken
  std::string bytes_;
  size_t taken_ = 0;
};

// Keys as one value, each with its length before it.
std::string key_list(const Keys& keys);
Keys keys_of(std::string_view list);  // throws Code::internal where it is none

// Compared in a time that tells nothing of where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace flambeau::dist
