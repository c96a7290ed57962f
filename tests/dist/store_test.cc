// All stores do the same: one suite over the four, with threads, processes, deadlines and last
// wills. Every process that a test starts is killed at its end.
#include "dist/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/error.h"
#include "dist/table.h"

namespace flambeau::dist {
namespace {

using namespace std::chrono_literals;

// A directory that goes with the test.
class Directory {
 public:
  Directory() { path_ = ::mkdtemp(name_); }
  ~Directory() {
    ::unlink(file().c_str());
    ::rmdir(path_.c_str());
  }
  std::string file() const { return path_ + "/store"; }

 private:
  char name_[64] = "/tmp/flambeau_store_XXXXXX";
  std::string path_;
};

TcpOptions tcp(uint16_t port = 0) {
  TcpOptions o;
  o.host = "127.0.0.1";
  o.port = port;
  o.is_server = port == 0;
  o.timeout = 10s;
  o.key = "a secret of the job";
  return o;
}

// Runs `body` in a forked child until that ends, or until it is killed.
class Child {
 public:
  explicit Child(const std::function<bool()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::alarm(20);
    bool ok = false;
    try {
      ok = body();
    } catch (...) {
    }
    ::_exit(ok ? 0 : 1);
  }
  ~Child() {
    if (pid_ > 0) kill();
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

class Stores : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { store = make(); }
  Ref<Store> make() {
    const std::string name = GetParam();
    if (name == "hash") return hash_store();
    if (name == "file") return file_store(directory.file(), 0);
    if (name == "prefix") return prefix_store("part", prefix_store("of", tcp_store(tcp())));
    return tcp_store(tcp());
  }
  // A store of the same table as another process makes it.
  Ref<Store> again() {
    const std::string name = GetParam();
    if (name == "file") return file_store(directory.file(), 0);
    Ref<Store> other = tcp_store(tcp(tcp_port(*store)));
    return name == "prefix" ? prefix_store("part", prefix_store("of", other)) : other;
  }

  Directory directory;
  Ref<Store> store;
};

class SharedStores : public Stores {};  // those that several processes see

Code code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code;
  }
  return Code::ok;
}

std::string text_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST_P(Stores, KeepValues) {
  const std::string bytes("\0\xff\n", 3);
  store->set("a", bytes);
  EXPECT_EQ(store->get("a", 1s), bytes);
  store->set("a", "");
  EXPECT_EQ(store->get("a", 1s), "");
  store->append("a", "12");
  store->append("b", "3");
  EXPECT_EQ(store->get("a", 1s), "12");
  EXPECT_EQ(store->get("b", 1s), "3");
  EXPECT_EQ(store->num_keys(), 2);
  EXPECT_EQ(store->list_keys(), Keys({"a", "b"}));
  EXPECT_TRUE(store->check({"a", "b"}));
  EXPECT_TRUE(store->check({}));
  EXPECT_FALSE(store->check({"a", "c"}));
  EXPECT_TRUE(store->remove("a"));
  EXPECT_FALSE(store->remove("a"));
  EXPECT_FALSE(store->check({"a"}));
  EXPECT_EQ(store->num_keys(), 1);
  const std::string large(5 << 20, 'x');
  store->set("large", large);
  EXPECT_EQ(store->get("large", 5s), large);
}

TEST_P(Stores, Add) {
  EXPECT_EQ(store->add("n", 3), 3);
  EXPECT_EQ(store->add("n", -5), -2);
  EXPECT_EQ(store->get("n", 1s), "-2");
  store->set("word", "seven");
  EXPECT_EQ(code_of([&] { store->add("word", 1); }), Code::invalid_argument);
  store->set("word", "1 ");
  EXPECT_EQ(code_of([&] { store->add("word", 1); }), Code::invalid_argument);
  store->set("most", "9223372036854775807");
  EXPECT_EQ(code_of([&] { store->add("most", 1); }), Code::invalid_argument);
  EXPECT_EQ(store->get("most", 1s), "9223372036854775807");
}

TEST_P(Stores, CompareSet) {
  EXPECT_EQ(store->compare_set("k", "x", "w"), "x");
  EXPECT_FALSE(store->check({"k"}));
  EXPECT_EQ(store->compare_set("k", "", "v"), "v");
  EXPECT_EQ(store->compare_set("k", "x", "w"), "v");
  EXPECT_EQ(store->compare_set("k", "v", "w"), "w");
  EXPECT_EQ(store->get("k", 1s), "w");
  EXPECT_EQ(store->compare_set("k", "", "z"), "w");
}

TEST_P(Stores, Bounds) {
  const std::string key(4097, 'k');
  EXPECT_EQ(code_of([&] { store->set(key, ""); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { store->check(Keys(4097, "k")); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { store->set("k", std::string((64 << 20) + 1, 'v')); }),
            Code::invalid_argument);
  store->set(std::string(4000, 'k'), "long");
  EXPECT_EQ(store->get(std::string(4000, 'k'), 1s), "long");
}

TEST_P(Stores, DeadlineNamesWhatIsMissing) {
  store->set("there", "1");
  const auto begun = std::chrono::steady_clock::now();
  const std::string text = text_of([&] { store->wait({"there", "absent", "gone"}, 100ms); });
  const auto spent = std::chrono::steady_clock::now() - begun;
  EXPECT_NE(text.find("wait timeout after 100ms"), std::string::npos) << text;
  EXPECT_NE(text.find("absent\""), std::string::npos) << text;
  EXPECT_NE(text.find("gone\""), std::string::npos) << text;
  EXPECT_EQ(text.find("there\""), std::string::npos) << text;
  EXPECT_GE(spent, 95ms);
  EXPECT_LT(spent, 2s);
  EXPECT_EQ(code_of([&] { store->get("absent", 0ms); }), Code::collective_timeout);
  EXPECT_EQ(store->get("there", 0ms), "1");
  store->wait({}, 0ms);
}

TEST_P(Stores, WaitEndsWhenTheLastKeyComes) {
  const Ref<Store> other = store->clone();
  std::thread setter([&] {
    for (const char* key : {"c", "a", "b"}) {
      std::this_thread::sleep_for(20ms);
      other->set(key, key);
    }
  });
  store->wait({"a", "b", "c"}, 10s);
  EXPECT_TRUE(store->check({"a", "b", "c"}));
  setter.join();
}

TEST_P(Stores, KeyThatGoesAgainIsWaitedFor) {
  const Ref<Store> other = store->clone();
  std::thread setter([&] {
    std::this_thread::sleep_for(50ms);
    other->set("a", "1");
    std::this_thread::sleep_for(50ms);
    other->remove("a");
    other->set("b", "1");
    std::this_thread::sleep_for(50ms);
    other->set("a", "2");
  });
  store->wait({"a", "b"}, 10s);
  EXPECT_EQ(store->get("a", 1s), "2");
  setter.join();
}

TEST_P(Stores, ThreadsShareOne) {
  constexpr int threads = 4, times = 50;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      const Ref<Store> own = t % 2 ? store : store->clone();
      for (int i = 0; i < times; ++i) {
        own->add("n", 1);
        own->append("text", "x");
      }
    });
  for (std::thread& t : all) t.join();
  EXPECT_EQ(store->get("n", 1s), std::to_string(threads * times));
  EXPECT_EQ(store->get("text", 1s).size(), size_t(threads * times));
}

TEST_P(Stores, ManyKeys) {
  Keys keys;
  for (int i = 0; i < 1500; ++i) keys.push_back("key " + std::to_string(i));
  const Ref<Store> other = store->clone();
  std::jthread setter([&] {
    for (const std::string& key : keys) other->set(key, "1");
  });
  store->wait(keys, 60s);
  setter.join();
  EXPECT_EQ(store->num_keys(), int64_t(keys.size()));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(store->list_keys(), keys);
}

TEST(PrefixStore, ListsItsOwnKeys) {
  const Ref<Store> whole = hash_store(), part = prefix_store("part", whole);
  part->set("a", "1");
  part->set("", "1");
  whole->set("party", "1");
  EXPECT_EQ(part->list_keys(), Keys({"", "a"}));
  EXPECT_EQ(whole->list_keys(), Keys({"part/", "part/a", "party"}));
}

TEST_P(SharedStores, Processes) {
  Child child([&] {
    const Ref<Store> own = again();
    own->set("from the child", "1");
    return own->get("from the parent", 10s) == "2";
  });
  EXPECT_EQ(store->get("from the child", 10s), "1");
  store->set("from the parent", "2");
  EXPECT_EQ(child.wait(), 0);
}

TEST_P(SharedStores, ForkedChildIsTold) {
  Child child([&] {
    return code_of([&] { store->set("k", "child"); }) == Code::unsupported &&
           code_of([&] { store->clone()->set("k", "child"); }) == Code::unsupported;
  });
  EXPECT_EQ(child.wait(), 0);
  store->set("k", "parent");
  EXPECT_EQ(store->get("k", 1s), "parent");
}

// A child that makes a last will, and another child of it that has copies of all it had open.
void make_will(const std::function<Ref<Store>()>& make) {
  const Ref<Store> own = make();
  own->will("gone", "1");
  own->will("gone", "2");
  const pid_t copy = ::fork();
  if (copy == 0) {
    ::alarm(20);
    ::pause();
    ::_exit(0);
  }
  own->set("ready", std::to_string(copy));
  ::pause();
}

TEST_P(SharedStores, LastWillOfAKilledProcess) {
  Child child([&] { return make_will([&] { return again(); }), true; });
  const pid_t copy = std::stoi(store->get("ready", 10s));
  EXPECT_FALSE(store->check({"gone"}));
  EXPECT_EQ(code_of([&] { store->wait({"gone"}, 300ms); }), Code::collective_timeout);
  child.kill();
  EXPECT_EQ(store->get("gone", 1s).substr(0, 1), "1");
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(store->get("gone", 1s), "12");  // once, and in order
  ::kill(copy, SIGKILL);
}

TEST_P(SharedStores, WithdrawnWillIsNotExecuted) {
  Ref<Store> other = again();
  other->will("gone", "1");
  other->withdraw();
  other = nullptr;
  EXPECT_EQ(code_of([&] { store->wait({"gone"}, 400ms); }), Code::collective_timeout);
}

TEST_P(Stores, CloneHasItsOwnTimeout) {
  store->set_timeout(1234ms);
  const Ref<Store> other = store->clone();
  EXPECT_EQ(other->timeout(), 1234ms);
  other->set_timeout(1ms);
  EXPECT_EQ(store->timeout(), 1234ms);
  store->set("k", "1");
  EXPECT_EQ(other->get("k", 5s), "1");
  EXPECT_FALSE(store->describe().empty());
}

std::string name_of(const testing::TestParamInfo<const char*>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(, Stores, testing::Values("hash", "tcp", "file", "prefix"), name_of);
INSTANTIATE_TEST_SUITE_P(, SharedStores, testing::Values("tcp", "file", "prefix"), name_of);

TEST(FileStore, LastOneRemovesTheFile) {
  const Directory directory;
  Ref<Store> a = file_store(directory.file(), 2);
  a->set("k", "1");
  Ref<Store> b = file_store(directory.file(), 2);
  EXPECT_EQ(b->get("k", 1s), "1");
  a = nullptr;
  EXPECT_EQ(::access(directory.file().c_str(), F_OK), 0);
  b = nullptr;
  EXPECT_NE(::access(directory.file().c_str(), F_OK), 0);
}

TEST(FileStore, HalfWrittenTailIsCutOff) {
  const Directory directory;
  const Ref<Store> store = file_store(directory.file(), 0);
  store->set("k", "1");
  FILE* const f = std::fopen(directory.file().c_str(), "ab");
  std::fputs("\x40", f);  // of a length that never came
  std::fclose(f);
  EXPECT_EQ(store->get("k", 1s), "1");
  store->set("k", "2");
  EXPECT_EQ(file_store(directory.file(), 0)->get("k", 1s), "2");
}

TEST(FileStore, ForeignFileIsRefused) {
  const Directory directory;
  FILE* const f = std::fopen(directory.file().c_str(), "wb");
  std::fputs("some notes of somebody else", f);
  std::fclose(f);
  EXPECT_EQ(code_of([&] { file_store(directory.file(), 0); }), Code::io);
  EXPECT_EQ(code_of([&] { file_store("/nonexistent/store", 0); }), Code::io);
}

TEST(TcpStore, AnotherJobsKeyIsRefused) {
  const Ref<Store> store = tcp_store(tcp());
  TcpOptions other = tcp(tcp_port(*store));
  for (const char* key : {"another secret", "a secret of the joc", "a secret of the jo"}) {
    other.key = key;
    const std::string text = text_of([&] { tcp_store(other); });
    EXPECT_NE(text.find("belongs to another job"), std::string::npos) << text;
  }
  store->set("k", "1");
}

TEST(TcpStore, TooManyKeysToList) {
  const Ref<Store> server = tcp_store(tcp());
  const size_t most = kMaxValue / (sizeof(uint32_t) + kMaxKey);
  for (size_t i = 0; i <= most; ++i) {
    std::string key = std::to_string(i);
    server->set(key.append(kMaxKey - key.size(), 'k'), "");
  }
  const std::string text = text_of([&] { server->list_keys(); });
  EXPECT_NE(text.find("list_keys of 16369 keys, more than 67108864 bytes"), text.npos) << text;
  EXPECT_NE(text.find("num_keys counts them"), text.npos) << text;
  EXPECT_EQ(server->num_keys(), int64_t(most + 1));
  server->remove(std::string("0").append(kMaxKey - 1, 'k'));
  EXPECT_EQ(server->list_keys().size(), most);
}

TEST(TcpStore, TakenPort) {
  const Ref<Store> store = tcp_store(tcp());
  TcpOptions second = tcp(tcp_port(*store));
  second.is_server = true;
  EXPECT_EQ(code_of([&] { tcp_store(second); }), Code::io);
  const std::string text = text_of([&] { tcp_store(second); });
  EXPECT_NE(text.find("address 127.0.0.1:" + std::to_string(second.port) + " is already in use"),
            std::string::npos)
      << text;
}

TEST(TcpStore, NobodyListens) {
  uint16_t port = 0;
  {
    const Ref<Store> store = tcp_store(tcp());
    port = tcp_port(*store);
  }
  TcpOptions client = tcp(port);
  client.timeout = 300ms;
  const auto begun = std::chrono::steady_clock::now();
  const std::string text = text_of([&] { tcp_store(client); });
  EXPECT_NE(text.find("onnection refused"), std::string::npos) << text;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
}

TEST(TcpStore, ServerMayStartLater) {
  uint16_t port = 0;
  {
    const Ref<Store> store = tcp_store(tcp());
    port = tcp_port(*store);
  }
  std::thread client([&] { tcp_store(tcp(port))->set("k", "1"); });
  std::this_thread::sleep_for(200ms);
  TcpOptions server = tcp(port);
  server.is_server = true;
  server.world_size = 2;
  const Ref<Store> store = tcp_store(server);  // waits for the client
  EXPECT_EQ(store->num_workers(), 2);
  EXPECT_EQ(store->get("k", 5s), "1");
  client.join();
}

TEST(TcpStore, MissingWorkersAreCounted) {
  TcpOptions o = tcp();
  o.world_size = 3;
  o.timeout = 200ms;
  const std::string text = text_of([&] { tcp_store(o); });
  EXPECT_NE(text.find("1 of 3 joined"), std::string::npos) << text;
  o.wait_for_workers = false;
  EXPECT_EQ(tcp_store(o)->num_workers(), 1);
}

TEST(TcpStore, EndOfTheServerWakesEverybody) {
  Ref<Store> store = tcp_store(tcp());
  const Ref<Store> other = tcp_store(tcp(tcp_port(*store)));
  std::atomic<Code> code{Code::ok};
  std::thread waiter([&] { code = code_of([&] { other->wait({"never"}, 30s); }); });
  std::this_thread::sleep_for(50ms);
  store = nullptr;
  waiter.join();
  EXPECT_EQ(code, Code::peer_lost);
  EXPECT_EQ(code_of([&] { other->set("k", "1"); }), Code::peer_lost);
}

TEST(TcpStore, CloneKeepsTheServer) {
  Ref<Store> store = tcp_store(tcp());
  const Ref<Store> kept = store->clone();
  store->set("k", "1");
  store = nullptr;
  EXPECT_EQ(kept->get("k", 1s), "1");
}

// A server that is stopped, not dead: the caller's own deadline holds, and what it answers later is
// not taken for the answer to another call.
TEST(TcpStore, StoppedServer) {
  int ports[2];
  ASSERT_EQ(::pipe(ports), 0);
  const pid_t server = ::fork();
  if (server == 0) {
    ::alarm(20);
    const Ref<Store> store = tcp_store(tcp());
    const uint16_t port = tcp_port(*store);
    static_cast<void>(!::write(ports[1], &port, sizeof port));
    ::pause();
    ::_exit(0);
  }
  uint16_t port = 0;
  ASSERT_EQ(::read(ports[0], &port, sizeof port), ssize_t(sizeof port));
  const Ref<Store> store = tcp_store(tcp(port));
  store->set("k", "1");
  store->set_timeout(200ms);
  ::kill(server, SIGSTOP);
  ASSERT_EQ(::waitpid(server, nullptr, WUNTRACED), server);  // it has stopped
  EXPECT_EQ(code_of([&] { store->add("n", 1); }), Code::collective_timeout);
  EXPECT_EQ(code_of([&] { store->get("k", 100ms); }), Code::collective_timeout);
  ::kill(server, SIGCONT);
  store->set_timeout(5s);
  EXPECT_EQ(store->add("n", 1), 2);
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  EXPECT_EQ(code_of([&] { store->add("n", 1); }), Code::peer_lost);
  ::close(ports[0]);
  ::close(ports[1]);
}

TEST(TcpStore, ListensOnTheAddressItIsGiven) {
  TcpOptions o = tcp();
  o.listen = "127.0.0.2";
  const Ref<Store> store = tcp_store(o);
  EXPECT_EQ(store->describe(), "TCPStore(127.0.0.2:" + std::to_string(tcp_port(*store)) + ")");
  TcpOptions elsewhere = tcp(tcp_port(*store));
  elsewhere.timeout = 100ms;
  EXPECT_EQ(code_of([&] { tcp_store(elsewhere); }), Code::peer_lost);
  o.listen = "192.0.2.1";  // nobody's
  EXPECT_EQ(code_of([&] { tcp_store(o); }), Code::io);
  o.listen = "0.0.0.0";
  const Ref<Store> everywhere = tcp_store(o);
  EXPECT_EQ(tcp_store(tcp(tcp_port(*everywhere)))->num_keys(), 0);
  o.listen.clear();
  o.host = "localhost";
  const Ref<Store> local = tcp_store(o);
  local->set("k", "1");
}

TEST(TcpStore, BadOptions) {
  TcpOptions o = tcp();
  o.host.clear();
  EXPECT_EQ(code_of([&] { tcp_store(o); }), Code::invalid_argument);
  o = tcp();
  o.is_server = false;
  EXPECT_EQ(code_of([&] { tcp_store(o); }), Code::invalid_argument);
  o = tcp();
  o.listen_fd = 0;
  EXPECT_EQ(code_of([&] { tcp_store(o); }), Code::invalid_argument);
  o = tcp();
  o.key = std::string(5000, 'x');
  EXPECT_EQ(code_of([&] { tcp_store(o); }), Code::invalid_argument);
}

}  // namespace
}  // namespace flambeau::dist
