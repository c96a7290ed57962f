// What strangers and broken peers may send to a TCP store: random and mutated messages against the
// parser and against a live server, connections that say nothing, that read nothing, and lengths
// that are lies. Errors, no crash, and no growth of memory. FLAMBEAU_FUZZ_MESSAGES=10000000 is the
// long run.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "base/error.h"
#include "dist/store.h"
#include "dist/tcp_wire.h"

namespace flambeau::dist {
namespace {

using namespace std::chrono_literals;

constexpr char kKey[] = "the job's";

#if defined(__SANITIZE_ADDRESS__)
constexpr double kGrowth = 512;  // freed memory is kept out of use
#else
constexpr double kGrowth = 16;  // MiB that caches of the allocator may take
#endif

int64_t fuzz_messages() {
  const char* set = std::getenv("FLAMBEAU_FUZZ_MESSAGES");
  return set ? std::max(std::atoll(set), 1000LL) : 200000;
}

double resident_mib() {
  long total = 0, resident = 0;
  FILE* const f = std::fopen("/proc/self/statm", "r");
  if (!f || std::fscanf(f, "%ld %ld", &total, &resident) != 2) resident = 0;
  if (f) std::fclose(f);
  return double(resident) * double(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

TcpOptions server_options() {
  TcpOptions o;
  o.host = "127.0.0.1";
  o.is_server = true;
  o.timeout = 20s;
  o.key = kKey;
  return o;
}

// A stranger's connection, which breaks off without a trace when it goes.
class Raw {
 public:
  explicit Raw(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ok_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Raw() { ::close(fd_); }
  Raw(const Raw&) = delete;

  bool ok() const { return ok_; }
  bool send(const std::string& bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size());
  }
  // As many as fit into the socket's memory.
  size_t send_some(const std::string& bytes) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 ? 0 : size_t(n);
  }
  // Reads until the answer with this id; false where the server broke the connection off, or waits
  // for the rest of something.
  bool read_until(uint32_t id, Millis patience = 10s) {
    Inbox inbox;
    char bytes[65536];
    for (;;) {
      Message m;
      while (inbox.next(m, kMaxBody) == Inbox::Found::message)
        if (m.id == id) return true;
      if (!readable(patience)) return false;
      const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
      if (n <= 0) return false;
      inbox.add({bytes, size_t(n)});
    }
  }
  // Whether the server breaks the connection off within that time, without another word.
  bool is_dropped(Millis within) {
    char byte;
    return readable(within) && ::recv(fd_, &byte, 1, 0) <= 0;
  }

 private:
  bool readable(Millis within) {
    pollfd p{fd_, POLLIN, 0};
    return ::poll(&p, 1, int(within.count())) > 0;
  }
  int fd_;
  bool ok_;
};

std::string hello(const std::string& key = kKey, int64_t number = kProtocol) {
  return encode({Op::hello, 1, number, {}, {key}});
}

class Fuzzer {
 public:
  explicit Fuzzer(uint64_t seed) : random_(seed) {}

  size_t below(size_t n) { return size_t(random_() % n); }

  // A message that a client could send, in what it says odd.
  Message message() {
    static constexpr Op ops[] = {Op::set,    Op::get,         Op::append,   Op::add,      Op::wait,
                                 Op::check,  Op::remove,      Op::num_keys, Op::will,     Op::set,
                                 Op::remove, Op::compare_set, Op::withdraw, Op::list_keys};
    Message m{ops[below(std::size(ops))], uint32_t(random_()), number(), {}, {}};
    const bool one = m.op != Op::num_keys && m.op != Op::withdraw && m.op != Op::list_keys;
    const bool many = m.op == Op::wait || m.op == Op::check;
    for (size_t n = many ? below(5) : one; n > 0; --n) m.keys.push_back(key());
    const bool sets = m.op == Op::set || m.op == Op::append || m.op == Op::will;
    for (size_t n = m.op == Op::compare_set ? 2 : sets; n > 0; --n) m.values.push_back(bytes());
    return m;
  }

  // The same with some of it wrong: bytes, its end, its length, or all.
  std::string mutated() {
    std::string wire = encode(message());
    switch (below(5)) {
      case 0:
        wire.resize(below(wire.size()));
        break;
      case 1:
        wire[below(4)] = char(random_());
        break;
      case 2:
        wire += bytes();
        break;
      case 3:
        return bytes() + bytes();
      default:
        break;
    }
    for (size_t n = below(4); n > 0 && !wire.empty(); --n)
      wire[below(wire.size())] = char(random_());
    return wire;
  }

  std::string bytes() {
    std::string out(below(48), '\0');
    for (char& c : out) c = char(random_());
    return out;
  }

 private:
  std::string key() { return "key " + std::to_string(below(16)); }
  int64_t number() {
    static constexpr int64_t odd[] = {0, 1, -1, 5, INT64_MAX, INT64_MIN, 1000000007};
    return odd[below(std::size(odd))];
  }
  std::mt19937_64 random_;
};

TEST(StoreWire, MessagesComeBack) {
  Fuzzer fuzzer(1);
  for (int i = 0; i < 2000; ++i) {
    const Message m = fuzzer.message();
    Inbox inbox;
    inbox.add(encode(m));
    Message back;
    ASSERT_EQ(inbox.next(back, kMaxBody), Inbox::Found::message);
    EXPECT_EQ(back.op, m.op);
    EXPECT_EQ(back.id, m.id);
    EXPECT_EQ(back.number, m.number);
    EXPECT_EQ(back.keys, m.keys);
    EXPECT_EQ(back.values, m.values);
    EXPECT_EQ(inbox.size(), 0u);
    EXPECT_EQ(inbox.next(back, kMaxBody), Inbox::Found::nothing);
  }
}

TEST(StoreWire, Secrets) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcd", "abcabc"})
    EXPECT_FALSE(same_secret("abc", other)) << other;
  EXPECT_FALSE(same_secret("", "a"));
}

// What the parser takes has the bounds that it promises, whatever arrives in whatever pieces.
TEST(StoreWire, ParserTakesAnything) {
  Fuzzer fuzzer(2);
  const int64_t messages = fuzz_messages();
  int64_t taken = 0, refused = 0;
  double before = 0;
  for (int64_t i = 0; i < messages;) {
    Inbox inbox;
    for (bool good = true; good && i < messages; ++i) {
      const std::string wire = fuzzer.below(16) ? encode(fuzzer.message()) : fuzzer.mutated();
      const size_t cut = fuzzer.below(wire.size() + 1);
      for (const std::string_view piece :
           {std::string_view(wire).substr(0, cut), std::string_view(wire).substr(cut)}) {
        inbox.add(piece);
        Message m;
        Inbox::Found found;
        while ((found = inbox.next(m, kMaxHello)) == Inbox::Found::message) {
          ++taken;
          ASSERT_LE(m.keys.size(), kMaxKeys);
          ASSERT_LE(m.values.size(), 2u);
        }
        good &= found != Inbox::Found::nonsense;
        refused += !good;
      }
    }
    if (before == 0 && i > messages / 5) before = resident_mib();
  }
  EXPECT_GT(taken, messages / 2);
  EXPECT_GT(refused, messages / 1000);
  EXPECT_LT(resident_mib() - before, kGrowth);
}

TEST(StoreWire, ServerTakesAnything) {
  const Ref<Store> store = tcp_store(server_options());
  const uint16_t port = tcp_port(*store);
  Fuzzer fuzzer(3);
  const int64_t messages = fuzz_messages();
  int64_t answered = 0, dropped = 0;
  double before = 0;
  for (int64_t i = 0; i < messages;) {
    Raw raw(port);
    ASSERT_TRUE(raw.ok());
    std::string batch = fuzzer.below(8) ? hello() : fuzzer.mutated();
    for (size_t n = 8 + fuzzer.below(56); n > 0; --n, ++i)
      batch += fuzzer.below(48) ? encode(fuzzer.message()) : fuzzer.mutated();
    constexpr uint32_t last = 0xabcdef01;
    batch += encode({Op::num_keys, last, 0, {}, {}});
    raw.send(batch);
    (raw.read_until(last, 1ms) ? answered : dropped) += 1;
    if (before == 0 && i > messages / 5) before = resident_mib();
  }
  EXPECT_GT(answered, 0);
  EXPECT_GT(dropped, 0);
  EXPECT_LT(resident_mib() - before, kGrowth);
  store->set("whole", "1");
  EXPECT_EQ(store->get("whole", 5s), "1");
}

TEST(StoreWire, NothingIsReadBeforeTheHello) {
  const Ref<Store> store = tcp_store(server_options());
  const uint16_t port = tcp_port(*store);
  const std::string set = encode({Op::set, 1, 0, {"k"}, {"stranger's"}});
  for (const std::string& first :
       {set, hello("another"), hello(kKey, kProtocol + 1), std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("\xff\xff\xff\x7f", 4), std::string("\0\0\0\0", 4)}) {
    Raw raw(port);
    raw.send(first + set);
    EXPECT_FALSE(raw.read_until(7));  // broken off, and not after ten seconds
  }
  EXPECT_FALSE(store->check({"k"}));
  EXPECT_EQ(store->num_workers(), 1);
}

TEST(StoreWire, SilentConnectionsAreDropped) {
  const Ref<Store> store = tcp_store(server_options());
  std::vector<std::unique_ptr<Raw>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<Raw>(tcp_port(*store)));
  silent[1]->send(hello().substr(0, 9));
  const auto begun = std::chrono::steady_clock::now();
  store->set("k", "1");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 1s);
  for (auto& raw : silent) EXPECT_TRUE(raw->is_dropped(6s));
  EXPECT_EQ(store->get("k", 1s), "1");
}

// Who asks for much and reads nothing costs what fits into the sockets, and nobody else's time.
TEST(StoreWire, SlowReaderStallsNobody) {
  const Ref<Store> store = tcp_store(server_options());
  store->set("large", std::string(1 << 20, 'x'));
  Raw raw(tcp_port(*store));
  ASSERT_TRUE(raw.send(hello()) && raw.read_until(1));
  const double before = resident_mib();
  const std::string get = encode({Op::get, 2, 1000, {"large"}, {}});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += get;
  for (int i = 0; i < 100; ++i) raw.send_some(many);
  for (int i = 0; i < 100; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    store->add("n", 1);
    ASSERT_LT(std::chrono::steady_clock::now() - begun, 1s);
  }
  EXPECT_LT(resident_mib() - before, 3 * kGrowth);
}

// A length is announced, the bytes come slowly or never: no memory is taken for them.
TEST(StoreWire, AnnouncedLengthTakesNoMemory) {
  const Ref<Store> store = tcp_store(server_options());
  std::vector<std::unique_ptr<Raw>> all;
  const double before = resident_mib();
  for (int i = 0; i < 64; ++i) {
    all.push_back(std::make_unique<Raw>(tcp_port(*store)));
    ASSERT_TRUE(all.back()->send(hello()) && all.back()->read_until(1));
    const uint32_t length = uint32_t(kMaxBody);
    all.back()->send(std::string(reinterpret_cast<const char*>(&length), sizeof length) + "\x02");
  }
  store->set("k", "1");
  EXPECT_LT(resident_mib() - before, kGrowth);
  Raw beyond(tcp_port(*store));
  const uint32_t length = uint32_t(kMaxBody) + 1;
  ASSERT_TRUE(beyond.send(hello()) && beyond.read_until(1));
  beyond.send(std::string(reinterpret_cast<const char*>(&length), sizeof length));
  EXPECT_TRUE(beyond.is_dropped(5s));
}

}  // namespace
}  // namespace flambeau::dist
