// A pickle machine for state dicts.
#include "io/pickle.h"

#include <cstring>
#include <map>

#include "base/error.h"
#include "io/weights.h"
#include "ops/ops.h"

namespace flambeau::io {

namespace {

using V = PickleValue;

struct StorageType {
  const char* name;
  Dtype dtype;
};
constexpr StorageType kStorages[] = {
    {"torch.FloatStorage", Dtype::f32}, {"torch.DoubleStorage", Dtype::f64},
    {"torch.HalfStorage", Dtype::f16},  {"torch.BFloat16Storage", Dtype::bf16},
    {"torch.LongStorage", Dtype::i64},  {"torch.IntStorage", Dtype::i32},
    {"torch.ShortStorage", Dtype::i16}, {"torch.CharStorage", Dtype::i8},
    {"torch.ByteStorage", Dtype::u8},   {"torch.BoolStorage", Dtype::boolean}};

class Machine {
 public:
  Machine(std::string_view text, const StorageLookup& storage, std::string_view path,
          std::vector<PickleRef>& made)
      : text_(text), storage_(storage), path_(path), made_(made) {}
  PickleRef run();

 private:
  [[noreturn]] void damaged(const char* why) const {
    fail(Code::io, "\"", path_, "\" cannot be read: ", why);
  }
  template <class T> T take() {
    T v;
    std::memcpy(&v, bytes(sizeof v).data(), sizeof v);
    return v;
  }
  std::string_view bytes(size_t n) {
    if (n > text_.size() - at_) damaged("its pickle ends early");
    at_ += n;
    return text_.substr(at_ - n, n);
  }
  std::string line() {
    const size_t end = text_.find('\n', at_);
    if (end == text_.npos) damaged("its pickle ends early");
    std::string s(text_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }
  template <class T> void push(T v) {
    made_.push_back(std::make_shared<V>(V{std::move(v)}));
    stack_.push_back(made_.back());
  }
  PickleRef pop() {
    if (stack_.empty()) damaged("its pickle's stack runs empty");
    PickleRef v = std::move(stack_.back());
    stack_.pop_back();
    return v;
  }
  std::vector<PickleRef> pop_to_mark();
  void tuple(size_t n);
  void set_items(const std::vector<PickleRef>& items);
  void append_items(const std::vector<PickleRef>& items);
  void reduce();
  void load_storage();
  void store(uint32_t slot) {
    if (stack_.empty()) damaged("its pickle's stack runs empty");
    memo_[slot] = stack_.back();
  }
  void load(uint32_t slot) {
    const auto it = memo_.find(slot);
    if (it == memo_.end()) damaged("its pickle refers to nothing");
    stack_.push_back(it->second);
  }
  bool number(uint8_t op);
  bool text(uint8_t op);
  bool memo(uint8_t op);
  bool container(uint8_t op);
  Tensor rebuild(const V::Sequence& args) const;

  std::string_view text_;
  const StorageLookup& storage_;
  std::string_view path_;
  std::vector<PickleRef>& made_;
  size_t at_ = 0;
  std::vector<PickleRef> stack_;
  std::vector<size_t> marks_;
  std::map<uint32_t, PickleRef> memo_;
};

std::vector<PickleRef> Machine::pop_to_mark() {
  if (marks_.empty() || marks_.back() > stack_.size()) damaged("its pickle lacks a mark");
  const auto first = stack_.begin() + std::ptrdiff_t(marks_.back());
  marks_.pop_back();
  std::vector<PickleRef> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  return items;
}

void Machine::tuple(size_t n) {
  if (stack_.size() < n) damaged("its pickle's stack runs empty");
  V::Sequence s;
  s.items.assign(stack_.end() - std::ptrdiff_t(n), stack_.end());
  stack_.resize(stack_.size() - n);
  push(std::move(s));
}

void Machine::set_items(const std::vector<PickleRef>& items) {
  if (stack_.empty() || items.size() % 2) damaged("its pickle sets items of nothing");
  auto* dict = std::get_if<V::Dict>(&stack_.back()->v);
  if (!dict) {
    if (stack_.back()->as<V::Opaque>()) return;
    damaged("its pickle sets items of something else than a dict");
  }
  for (size_t i = 0; i < items.size(); i += 2) dict->items.emplace_back(items[i], items[i + 1]);
}

void Machine::append_items(const std::vector<PickleRef>& items) {
  auto* list = stack_.empty() ? nullptr : std::get_if<V::Sequence>(&stack_.back()->v);
  if (!list) damaged("its pickle appends to something else than a list");
  list->items.insert(list->items.end(), items.begin(), items.end());
}

// ("storage", type, key, device, numel): the bytes themselves lie in the archive.
void Machine::load_storage() {
  const PickleRef id = pop();
  const auto* tuple = id->as<V::Sequence>();
  if (!tuple || tuple->items.size() < 5) damaged("it has a persistent object that is no storage");
  const auto* type = tuple->items[1]->as<V::Global>();
  const auto* key = tuple->items[2]->as<std::string>();
  if (!type || !key) damaged("it has a persistent object that is no storage");
  for (const StorageType& s : kStorages) {
    if (type->name == s.name) return push(V::Storage{storage_(*key), s.dtype});
  }
  fail(Code::unsupported, "\"", path_, "\" has a storage of type ", type->name,
       ", which flambeau does not have");
}

Tensor Machine::rebuild(const V::Sequence& args) const {
  if (args.items.size() < 4) damaged("a tensor lacks arguments");
  const auto* storage = args.items[0]->as<V::Storage>();
  const auto* offset = args.items[1]->as<int64_t>();
  const auto* size = args.items[2]->as<V::Sequence>();
  const auto* stride = args.items[3]->as<V::Sequence>();
  if (!storage || !offset || !size || !stride || size->items.size() != stride->items.size()) {
    damaged("a tensor has arguments of the wrong kind");
  }
  Dims sizes, strides;
  int64_t reach = *offset;
  for (size_t i = 0; i < size->items.size(); ++i) {
    const auto *n = size->items[i]->as<int64_t>(), *s = stride->items[i]->as<int64_t>();
    if (!n || !s || *n < 0 || *s < 0) damaged("a tensor has a bad shape");
    sizes.push_back(*n);
    strides.push_back(*s);
    int64_t step;
    if (*n > 0 && (__builtin_mul_overflow(*n - 1, *s, &step) ||
                   __builtin_add_overflow(reach, step, &reach))) {
      damaged("a tensor reaches outside its storage");
    }
  }
  const auto held = int64_t(storage->bytes.size() / size_of(storage->dtype));
  if (*offset < 0 || (numel_of(sizes) > 0 && reach >= held))
    damaged("a tensor reaches outside its storage");
  const Tensor flat = tensor_from_bytes(storage->bytes, Dims{held}, storage->dtype);
  return ops::contiguous(alias(flat, sizes, strides, *offset));
}

void Machine::reduce() {
  const PickleRef args = pop(), callee = pop();
  const auto* tuple = args->as<V::Sequence>();
  const auto* global = callee->as<V::Global>();
  if (!tuple || !global) damaged("its pickle calls something that is no function");
  if (global->name == "collections.OrderedDict") return push(V::Dict{});
  if (global->name == "torch._utils._rebuild_tensor_v2") return push(rebuild(*tuple));
  if (global->name == "torch._utils._rebuild_parameter") {
    if (tuple->items.empty()) damaged("a parameter lacks its tensor");
    stack_.push_back(tuple->items[0]);
    return;
  }
  if (global->name == "torch.device" || global->name == "torch.Size") return push(V::Opaque{});
  fail(Code::unsupported, "\"", path_, "\" needs ", global->name,
       " to be called, which a file of weights must not; save a state_dict");
}

// None, truth values and numbers.
bool Machine::number(uint8_t op) {
  switch (op) {
    case 'N':
      push(V::None{});
      return true;
    case 0x88:
      push(true);
      return true;
    case 0x89:
      push(false);
      return true;
    case 'K':
      push(int64_t{take<uint8_t>()});
      return true;
    case 'M':
      push(int64_t{take<uint16_t>()});
      return true;
    case 'J':
      push(int64_t{take<int32_t>()});
      return true;
    case 0x8a: {
      const size_t n = take<uint8_t>();
      if (n > 8) damaged("it has an integer of more than 64 bits");
      const std::string_view raw = bytes(n);
      uint64_t v = n && (raw.back() & 0x80) ? ~uint64_t(0) : 0;
      if (n) std::memcpy(&v, raw.data(), n);
      push(int64_t(v));
      return true;
    }
    case 'G': {  // big-endian
      const uint64_t bits = __builtin_bswap64(take<uint64_t>());
      double v;
      std::memcpy(&v, &bits, sizeof v);
      push(v);
      return true;
    }
    default:
      return false;
  }
}

// Texts and the names of functions and classes.
bool Machine::text(uint8_t op) {
  switch (op) {
    case 'X':
      push(std::string(bytes(take<uint32_t>())));
      return true;
    case 0x8c:
      push(std::string(bytes(take<uint8_t>())));
      return true;
    case 'U':
      push(std::string(bytes(take<uint8_t>())));
      return true;
    case 'c': {
      const std::string module = line();
      push(V::Global{module + "." + line()});
      return true;
    }
    case 0x93: {
      const PickleRef attribute = pop(), module = pop();
      const auto *a = attribute->as<std::string>(), *m = module->as<std::string>();
      if (!a || !m) damaged("its pickle has a bad name");
      push(V::Global{*m + "." + *a});
      return true;
    }
    default:
      return false;
  }
}

bool Machine::memo(uint8_t op) {
  switch (op) {
    case 'q':
      store(take<uint8_t>());
      return true;
    case 'r':
      store(take<uint32_t>());
      return true;
    case 0x94:
      store(uint32_t(memo_.size()));
      return true;
    case 'h':
      load(take<uint8_t>());
      return true;
    case 'j':
      load(take<uint32_t>());
      return true;
    default:
      return false;
  }
}

bool Machine::container(uint8_t op) {
  switch (op) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case ')':
      push(V::Sequence{});
      return true;
    case 't':
      push(V::Sequence{pop_to_mark()});
      return true;
    case 0x85:
      tuple(1);
      return true;
    case 0x86:
      tuple(2);
      return true;
    case 0x87:
      tuple(3);
      return true;
    case ']':
      push(V::Sequence{});
      return true;
    case '}':
      push(V::Dict{});
      return true;
    case 'a':
      append_items({pop()});
      return true;
    case 'e':
      append_items(pop_to_mark());
      return true;
    case 's': {
      const PickleRef value = pop(), key = pop();
      set_items({key, value});
      return true;
    }
    case 'u':
      set_items(pop_to_mark());
      return true;
    case 'R':
      reduce();
      return true;
    case 'b':
      pop();
      return true;  // attributes of an OrderedDict: its metadata
    case 'Q':
      load_storage();
      return true;
    case '0':
      pop();
      return true;
    default:
      return false;
  }
}

PickleRef Machine::run() {
  for (;;) {
    const auto op = take<uint8_t>();
    if (op == '.') return pop();
    if (op == 0x80) {
      take<uint8_t>();  // protocol
    } else if (op == 0x95) {
      take<uint64_t>();  // frame length
    } else if (!number(op) && !text(op) && !memo(op) && !container(op)) {
      fail(Code::unsupported, "\"", path_,
           "\" has an object that is no tensor, number, text or container (opcode ", int(op),
           "); save a state_dict");
    }
  }
}

}  // namespace

Pickle::~Pickle() {
  for (const PickleRef& p : made_) {
    const V emptied = std::exchange(*p, V{});  // its items live on in made_
  }
}

Pickle read_pickle(std::string_view text, const StorageLookup& storage, std::string_view path) {
  Pickle pickle;
  pickle.root_ = Machine(text, storage, path, pickle.made_).run();
  return pickle;
}

}  // namespace flambeau::io
