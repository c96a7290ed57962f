// See tcp_wire.h. Numbers are little-endian. A body is: the op's byte, the id, the number, how many
// keys and how many values, and each of these behind its length.
#include "dist/tcp_wire.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace flambeau::dist {

namespace {

template <class T> void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof value; ++i) out += char(uint64_t(value) >> (8 * i));
}

void put_text(std::string& out, const std::string& text) {
  put(out, uint32_t(text.size()));
  out += text;
}

template <class T> T number_at(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  return T(value);
}

// Reads from the front; the first thing that is not there makes it bad, and all that follows.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class T> T number() {
    if (!have(sizeof(T))) return 0;
    const T value = number_at<T>(left_);
    left_.remove_prefix(sizeof(T));
    return value;
  }

  void texts(std::vector<std::string>& out, size_t n, size_t bound) {
    if (n > left_.size() / sizeof(uint32_t)) good_ = false;  // fewer bytes than lengths
    if (good_) out.reserve(n);
    for (size_t i = 0; good_ && i < n; ++i) {
      const size_t size = number<uint32_t>();
      if (size > bound || !have(size)) return void(good_ = false);
      out.emplace_back(left_.substr(0, size));
      left_.remove_prefix(size);
    }
  }

  bool good() const { return good_; }
  bool whole() const { return good_ && left_.empty(); }

 private:
  bool have(size_t n) { return good_ = good_ && left_.size() >= n; }
  std::string_view left_;
  bool good_ = true;
};

struct Counts {
  size_t least_keys, most_keys, values;
};

// What a message of the kind has; none for an unknown kind.
std::optional<Counts> counts_of(Op op) {
  switch (op) {
    case Op::hello:
      return Counts{0, 0, 1};
    case Op::set:
    case Op::append:
    case Op::will:
      return Counts{1, 1, 1};
    case Op::get:
    case Op::add:
    case Op::remove:
      return Counts{1, 1, 0};
    case Op::compare_set:
      return Counts{1, 1, 2};
    case Op::wait:
    case Op::check:
    case Op::late:
      return Counts{0, kMaxKeys, 0};
    case Op::num_keys:
    case Op::list_keys:
    case Op::withdraw:
    case Op::stranger:
    case Op::joined:
    case Op::left:
    case Op::executed:
      return Counts{0, 0, 0};
    case Op::ok:
    case Op::refused:
      return Counts{0, 0, 1};
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const Message& m) {
  std::string out(sizeof(uint32_t), '\0');
  put(out, uint8_t(m.op));
  put(out, m.id);
  put(out, m.number);
  put(out, uint16_t(m.keys.size()));
  put(out, uint8_t(m.values.size()));
  for (const std::string& key : m.keys) put_text(out, key);
  for (const std::string& value : m.values) put_text(out, value);
  std::string length;
  put(length, uint32_t(out.size() - sizeof(uint32_t)));
  return out.replace(0, length.size(), length);
}

std::optional<Message> decode(std::string_view body) {
  Reader in(body);
  Message m;
  m.op = Op(in.number<uint8_t>());
  m.id = in.number<uint32_t>();
  m.number = in.number<int64_t>();
  const size_t n_keys = in.number<uint16_t>();
  const size_t n_values = in.number<uint8_t>();
  const std::optional<Counts> counts = counts_of(m.op);
  if (!counts || n_keys < counts->least_keys || n_keys > counts->most_keys ||
      n_values != counts->values) {
    return std::nullopt;
  }
  in.texts(m.keys, n_keys, kMaxKey);
  in.texts(m.values, n_values, m.op == Op::hello ? kMaxJobKey : kMaxValue);
  if (!in.whole()) return std::nullopt;
  return m;
}

Inbox::Found Inbox::next(Message& message, size_t bound) {
  const std::string_view left = std::string_view(bytes_).substr(taken_);
  if (left.size() < sizeof(uint32_t)) return let_go(), Found::nothing;
  const size_t length = number_at<uint32_t>(left);
  if (length > bound) return Found::nonsense;
  if (left.size() - sizeof(uint32_t) < length) return let_go(), Found::nothing;
  std::optional<Message> found = decode(left.substr(sizeof(uint32_t), length));
  if (!found) return Found::nonsense;
  taken_ += sizeof(uint32_t) + length;
  message = std::move(*found);
  return Found::message;
}

void Inbox::let_go() {
  constexpr size_t kept = 65536;  // memory that a connection keeps between messages
  bytes_.erase(0, std::exchange(taken_, 0));
  if (bytes_.size() < kept && bytes_.capacity() > 4 * kept) bytes_.shrink_to_fit();
}

std::string key_list(const Keys& keys) {
  std::string list;
  for (const std::string& key : keys) put_text(list, key);
  return list;
}

Keys keys_of(std::string_view list) {
  Keys keys;
  Reader in(list);
  while (!in.whole()) {
    in.texts(keys, 1, kMaxKey);
    check(in.good(), Code::internal, "store: the server's list of keys is none");
  }
  return keys;
}

bool same_secret(std::string_view a, std::string_view b) {
  volatile uint8_t differs = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i)
    differs = differs | uint8_t(a[i] ^ (b.empty() ? 0xff : b[i % b.size()]));
  return differs == 0;
}

}  // namespace flambeau::dist
