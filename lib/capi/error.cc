// The thread's error record. It keeps the first failure; recording one never throws, not even
// without memory: then a record made at start stands in.

#include <algorithm>
#include <cctype>
#include <new>
#include <stdexcept>
#include <utility>

#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "capi/guard.h"
#include "nn/failure.h"

flam_error::~flam_error() { flambeau::capi::call_drop(drop, payload); }

namespace flambeau::capi {

namespace {

flam_error* out_of_memory_record() {
  static flam_error* record = [] {
    auto* e = new flam_error;
    e->code = Code::out_of_host_memory;
    e->message = e->c = e->rust = "out of host memory";
    return e;
  }();
  return record;
}
[[maybe_unused]] const flam_error* const made_at_start = out_of_memory_record();

FLAM_THREAD_LOCAL bool t_armed = false;  // outlives what it arms, which is touched once

// Releases the pending record when its thread ends.
struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() { error_clear(); }
};

// Returns the error's own code, whichever is kept.
flam_status keep_first(flam_error* e) {
  const auto code = flam_status(e->code);
  if (t_error) {
    e->release();
    return code;
  }
  if (!std::exchange(t_armed, true)) {
    thread_local ThreadEnd at_end;
    at_end.armed = true;
  }
  t_error = e;
  return code;
}

// What a callback of the program said is nobody's to translate.
struct HostError final : Error {
  using Error::Error;
};

flam_error* make_record(Code code, std::string message, bool verbatim) {
  auto e = make_ref<flam_error>();
  e->code = code;
  e->c = verbatim ? message : worded(message, Language::c);
  e->rust = verbatim ? message : worded(message, Language::rust);
  e->message = std::move(message);
  e->verbatim = verbatim;
  return e.detach();
}

// Whether facts begin with a call: that of an op which the failed one is made of, or its own.
bool says_call(std::string_view facts) {
  size_t n = 0;
  while (n < facts.size() &&
         (std::isalnum(static_cast<unsigned char>(facts[n])) || facts[n] == '_'))
    ++n;
  return n > 0 && n < facts.size() && facts[n] == '(';
}

// The call as the first fact of an error: each language by its own name of the operation.
void add_call(flam_error& e, const Error& error, const char* function, const Arguments& given) {
  CallText call{};
  try {
    call = given.text(given.shim);
  } catch (const Error&) {  // it is one of the arguments that is wrong
    return;
  }
  const auto add = [&](std::string& text, Language language, const char* name) {
    text.insert(worded(error.problem, language).size(), cat_text("\n  ", name, call.arguments));
  };
  add(e.message, Language::python, call.python);
  add(e.c, Language::c, function);
  add(e.rust, Language::rust, call.rust);
}

// In C the function that failed, where neither its arguments nor the text say which it was.
void add_function(flam_error& e, const char* function) {
  if (e.verbatim || e.c.find(function) != e.c.npos) return;
  const size_t line = std::min(e.c.find('\n'), e.c.size());
  e.c.insert(line, cat_text("\n  in ", function));
}

// The text with the module that the error comes from, unless it names one.
std::string placed(std::string text) {
  const std::string module = nn::failed_module();
  if (module.empty() || text.find(module) != text.npos || text.find("\n  in ") != text.npos)
    return text;
  return text + "\n  in " + module;
}

// A payload on its way into a record: where no record can be made it is dropped, not lost.
struct Payload {
  Payload(void* p, void (*d)(void*)) : payload(p), drop(d) {}
  Payload(const Payload&) = delete;
  ~Payload() { call_drop(drop, payload); }
  void move_to(flam_error& e) {
    e.payload = payload;
    e.drop = std::exchange(drop, nullptr);
  }
  void* payload;
  void (*drop)(void*);
};

flam_status record_out_of_memory(const char* function) {
  return keep_first(make_record(Code::out_of_host_memory,
                                placed(cat_text("out of host memory in ", function)), true));
}

flam_status record(const char* function, const Arguments& given) {
  try {
    throw;
  } catch (Error& error) {
    Payload payload(std::exchange(error.payload, nullptr),
                    std::exchange(error.drop_payload, nullptr));
    const bool verbatim = dynamic_cast<HostError*>(&error) != nullptr;
    const bool says = verbatim || payload.payload || says_call(error.facts);
    auto e = Ref<flam_error>::adopt(make_record(error.code, placed(error.what()), verbatim));
    payload.move_to(*e);
    if (given.text && !says) add_call(*e, error, function, given);
    if (!given.text && !says) add_function(*e, function);
    return keep_first(e.detach());
  } catch (const std::bad_alloc&) {
    return record_out_of_memory(function);
  } catch (const std::length_error&) {  // more than any memory could hold
    return record_out_of_memory(function);
  } catch (const std::exception& other) {
    return keep_first(
        make_record(Code::internal, cat_text(function, ": internal error: ", other.what()), true));
  } catch (...) {
    return keep_first(
        make_record(Code::internal, cat_text(function, ": internal error of unknown type"), true));
  }
}

}  // namespace

flam_status pending_code() noexcept { return t_error ? flam_status(t_error->code) : FLAM_OK; }

flam_status record_exception(const char* function, const Arguments& given) noexcept {
  try {
    return record(function, given);
  } catch (...) {
    out_of_memory_record()->retain();
    return keep_first(out_of_memory_record());
  }
}

flam_status null_operand(const char* function, const char* argument) noexcept {
  if (t_error) return pending_code();
  try {
    throw Error(Code::invalid_argument, cat_text(function, ": ", argument, " is NULL"),
                "no error of an earlier call is pending on this thread, so it was never made, or "
                "its error was cleared");
  } catch (...) {
    return record_exception(function);
  }
}

flam_status uncountable(const char* function, const char* list, size_t n) noexcept {
  try {
    throw Error(Code::invalid_argument,
                cat_text(function, ": the count of ", list, " is ", n, ", more than memory holds"),
                "a negative number becomes such a count");
  } catch (...) {
    return record_exception(function);
  }
}

flam_status out_of_memory(const char* function) noexcept {
  try {
    throw std::bad_alloc();
  } catch (...) {
    return record_exception(function);
  }
}

void unknown_dtype(flam_dtype number) {
  throw Error(Code::invalid_argument, cat_text("there is no dtype of number ", number), {},
              cat_text("FLAM_F32 to FLAM_C128 are 1 to ", kDtypeCount - 1,
                       ", unspecified is FLAM_DTYPE_NONE, 0"));
}

void unknown_device(flam_device code) {
  throw Error(Code::invalid_argument, cat_text("there is no device of code ", code), {},
              "make device codes with flam_device_make(FLAM_CUDA, 0) or flam_device_parse");
}

void unknown_enumerator(const char* type, int32_t number, const char* known) {
  throw Error(Code::invalid_argument, cat_text("there is no ", type, " of number ", number), {},
              cat_text("it is one of ", known));
}

void throw_callback_error(const char* what, flam_status status) {
  if (!t_error) {
    fail(Code::callback, what, " failed with status ", status,
         " and recorded no error with flam_error_set");
  }
  const auto e = Ref<flam_error>::adopt(std::exchange(t_error, nullptr));
  const auto rethrow = [&](auto error) {
    error.payload = std::exchange(e->payload, nullptr);
    error.drop_payload = std::exchange(e->drop, nullptr);
    throw error;
  };
  if (e->verbatim) rethrow(HostError(e->code, e->message));
  rethrow(Error(e->code, e->message));
  __builtin_unreachable();
}

// ---- targets ----------------------------------------------------------------------------------

uint32_t version() {
  return FLAM_VERSION_MAJOR << 16 | FLAM_VERSION_MINOR << 8 | FLAM_VERSION_PATCH;
}

void version_require(int32_t major, int32_t minor) {
  check(major == FLAM_VERSION_MAJOR && minor <= FLAM_VERSION_MINOR, Code::abi_version,
        "the program was built for flambeau ", major, ".", minor, ", the loaded library is ",
        FLAM_VERSION_MAJOR, ".", FLAM_VERSION_MINOR, ".", FLAM_VERSION_PATCH,
        ": load a library of major version ", major, " that is at least ", major, ".", minor);
}

int32_t error_code() { return pending_code(); }
const char* error_message() { return error_message_in(FLAM_LANGUAGE_C); }

const char* error_message_in(int32_t language) {
  return t_error ? t_error->text(Language(language)).c_str() : "";
}

void error_clear() {
  if (t_error) std::exchange(t_error, nullptr)->release();
}

Ref<flam_error> error_take() { return Ref<flam_error>::adopt(std::exchange(t_error, nullptr)); }

void error_restore(flam_error* error) {
  if (!error) return;
  keep_first(take_over(error));
}

void error_set(std::string_view message, void* data, void (*drop)(void*)) {
  Payload payload(data, drop);
  Handed::claim(data);
  error_clear();
  try {
    flam_error* e = make_record(Code::callback, std::string(message), true);
    payload.move_to(*e);
    keep_first(e);
  } catch (...) {
    record_exception("flam_error_set");
  }
}

void* error_payload() { return t_error ? t_error->payload : nullptr; }
int32_t error_code_of(const flam_error* error) { return int32_t(error->code); }

const char* error_message_of(const flam_error* error, int32_t language) {
  return error->text(Language(language)).c_str();
}

}  // namespace flambeau::capi
