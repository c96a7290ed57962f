// See file_log.h.
#include "dist/file_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace flambeau::dist {

namespace {

constexpr off_t kTableLock = off_t{1} << 61;  // the byte that is locked for the file
constexpr off_t kWillLocks = off_t{1} << 60;  // of will n the n-th from here
constexpr Millis kLook{200};                  // between looks for the dead

struct flock one_byte(off_t at, short type) {
  struct flock l{};
  l.l_type = type;
  l.l_whence = SEEK_SET;
  l.l_start = at;
  l.l_len = 1;
  return l;
}

int try_lock(int fd, off_t at, short type) {
  struct flock l = one_byte(at, type);
  return ::fcntl(fd, F_OFD_SETLK, &l) == 0 ? 0 : errno;
}

bool held_by_another(int fd, off_t at) {
  struct flock l = one_byte(at, F_WRLCK);
  return ::fcntl(fd, F_OFD_GETLK, &l) != 0 || l.l_type != F_UNLCK;
}

}  // namespace

FileLog::FileLog(std::string path, int64_t world_size, Millis timeout)
    : path_(std::move(path)), world_size_(world_size), process_(::getpid()) {
  const auto deadline = deadline_after(timeout);
  for (;;) {
    open_file();
    lock(deadline);
    if (same_file()) break;  // else the last of another run removed it in between
    unlock();
  }
  try {
    replay();
    if (whole_ == 0) write({Op::hello, 0, kProtocol, {}, {""}});
    write({Op::joined, 0, 0, {}, {}});
  } catch (...) {
    unlock();
    throw;
  }
  unlock();
}

FileLog::~FileLog() {
  if (process_ != ::getpid()) return;
  try {
    lock(deadline_after(std::chrono::seconds(1)));
    replay();
    write({Op::left, 0, 0, {}, {}});
    if (world_size_ > 0 && left_ >= world_size_ && same_file()) ::unlink(path_.c_str());
  } catch (const Error&) {  // a file that nobody can write any more stays
  }
}  // the locks go with the descriptor

void FileLog::fail_with(const char* what, int error) const {
  fail(Code::io, "store: cannot ", what, " \"", path_, "\": ", std::strerror(error));
}

void FileLog::check_process() const {
  check(process_ == ::getpid(), Code::unsupported, "FileStore(", path_,
        "): it stayed in the process that was forked; make a store in the child");
}

void FileLog::open_file() {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) fail_with("open", errno);
  file_ = std::make_unique<OwnDescriptor>(fd);
  struct stat info{};
  if (::fstat(fd, &info) != 0) fail_with("read", errno);
  check(S_ISREG(info.st_mode), Code::io, "store: \"", path_, "\" is not a regular file");
}

bool FileLog::same_file() const {
  struct stat own{}, named{};
  return ::fstat(file_->get(), &own) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

void FileLog::lock(Clock::time_point deadline) {
  for (Millis pause{1};; pause = std::min(pause * 2, Millis(8))) {
    const int error = try_lock(file_->get(), kTableLock, F_WRLCK);
    if (error == 0) return;
    if (error != EAGAIN && error != EACCES && error != EINTR) fail_with("lock", error);
    if (Clock::now() >= deadline) {
      throw Error(Code::collective_timeout,
                  cat_text("FileStore(", path_, "): timed out waiting for the file's lock"),
                  "another process has it and does not go on, because it is stopped");
    }
    std::this_thread::sleep_for(pause);
  }
}

void FileLog::unlock() noexcept { try_lock(file_->get(), kTableLock, F_UNLCK); }

bool FileLog::changed(int64_t seen) const {
  const std::lock_guard own(mutex_);
  struct stat info{};
  return ::fstat(file_->get(), &info) != 0 || info.st_size != seen || Clock::now() >= look_at_;
}

// The lock is held: what is not whole at the end was left so by who is gone.
void FileLog::replay() {
  Inbox inbox;
  std::string bytes(65536, '\0');
  for (int64_t at = whole_;;) {
    const ssize_t n = ::pread(file_->get(), bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with("read", errno);
    if (n == 0) break;
    at += n;
    inbox.add({bytes.data(), size_t(n)});
    Message m;
    for (;;) {
      const auto found = inbox.next(m, kMaxBody);
      const bool ours = found == Inbox::Found::message && (whole_ > 0 || m.op == Op::hello);
      check(ours || found == Inbox::Found::nothing, Code::io, "store: \"", path_,
            "\" is not the file of a store; give another path, or remove it");
      if (!ours) break;
      apply(m);
      whole_ = at - int64_t(inbox.size());
    }
  }
  if (inbox.size() > 0 && ::ftruncate(file_->get(), whole_) != 0) fail_with("write", errno);
}

void FileLog::apply(const Message& m) {
  switch (m.op) {
    case Op::set:
      table_.set(m.keys[0], m.values[0]);
      break;
    case Op::append:
      table_.append(m.keys[0], m.values[0]);
      break;
    case Op::remove:
      table_.remove(m.keys[0]);
      break;
    case Op::left:
      ++left_;
      break;
    case Op::will:
      last_will_ = m.number;
      wills_[m.number] = {m.keys[0], m.values[0]};
      break;
    case Op::executed:
      if (const auto at = wills_.find(m.number); at != wills_.end()) {
        const auto [key, value] = std::move(at->second);
        wills_.erase(at);
        const std::string* held = table_.find(key);
        if (!held || held->size() + value.size() <= kMaxValue) table_.append(key, value);
      }
      break;
    case Op::withdraw:
      wills_.erase(m.number);
      break;
    default:
      break;
  }
}

// All of it or nothing, as far as the system lets: what a full disk took in part is cut off.
void FileLog::write(const Message& m) {
  const std::string bytes = encode(m);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        ::pwrite(file_->get(), bytes.data() + done, bytes.size() - done, whole_ + int64_t(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      static_cast<void>(!::ftruncate(file_->get(), whole_));
      fail_with("write", error);
    }
    done += size_t(n);
  }
  whole_ += int64_t(bytes.size());
  apply(m);
}

void FileLog::execute_wills() {
  if (Clock::now() < look_at_) return;
  std::vector<int64_t> dead;
  for (const auto& [id, will] : wills_)
    if (!own_wills_.contains(id) && !held_by_another(file_->get(), kWillLocks + id))
      dead.push_back(id);
  for (const int64_t id : dead) write({Op::executed, 0, id, {}, {}});
  look_at_ = deadline_after(kLook);
}

FileLog::Session::Session(FileLog& log, Clock::time_point deadline) : log_(log) {
  log.check_process();  // before the lock, which a thread of the parent may have had
  lock_ = std::unique_lock(log.mutex_);
  log.lock(deadline);
  try {
    log.replay();
    log.execute_wills();
  } catch (...) {
    log.unlock();
    throw;
  }
}

FileLog::Session::~Session() { log_.unlock(); }

void FileLog::Session::write(const Message& change) { log_.write(change); }

void FileLog::Session::add_will(const std::string& key, const std::string& value) {
  const int64_t id = log_.last_will_ + 1;
  if (const int error = try_lock(log_.file_->get(), kWillLocks + id, F_WRLCK))
    log_.fail_with("lock", error);
  log_.own_wills_.insert(id);
  log_.write({Op::will, 0, id, {key}, {value}});
}

void FileLog::Session::withdraw() {
  while (!log_.own_wills_.empty()) {
    const int64_t id = *log_.own_wills_.begin();
    log_.write({Op::withdraw, 0, id, {}, {}});
    try_lock(log_.file_->get(), kWillLocks + id, F_UNLCK);
    log_.own_wills_.erase(log_.own_wills_.begin());
  }
}

}  // namespace flambeau::dist
