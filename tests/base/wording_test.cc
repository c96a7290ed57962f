// Error texts as C and Rust read them: single sentences, and every text of the library, none of
// which may reach them with Python's syntax.
#include "base/wording.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "gtest/gtest.h"

namespace flambeau {
namespace {

struct Row {
  const char *python, *c, *rust;
};

TEST(Wording, SpeaksTheLanguage) {
  const Row rows[] = {
      {"move the module: model.to(\"cuda:0\")",
       "move the module: flam_module_to(model, FLAM_DTYPE_NONE, flam_device_make(FLAM_CUDA, 0), "
       "NULL)",
       "move the module: model.to_device(Device::parse(\"cuda:0\")?)?"},
      {"move it: weight.to(\"sim:1\")",
       "move it: flam_to(weight, FLAM_DTYPE_NONE, flam_device_make(FLAM_SIM, 1), NULL)",
       "move it: weight.to_device(Device::parse(\"sim:1\")?)?"},
      {"convert it: x.to(float32)", "convert it: flam_to(x, FLAM_F32, FLAM_DEVICE_NONE, NULL)",
       "convert it: x.to_dtype(Dtype::F32)?"},
      {"Convert one with .to(dtype)", "Convert one with flam_to(x, dtype, FLAM_DEVICE_NONE, NULL)",
       "Convert one with x.to_dtype(dtype)?"},
      {"wrap it in no_grad(), or write to a clone()",
       "wrap it in flam_grad_mode_push(FLAM_FALSE), or write to a flam_clone(x)",
       "wrap it in Scope::no_grad(), or write to a deep_clone()"},
      {"call backward(retain_graph=True) the first time",
       "call flam_autograd_backward_options options = FLAM_AUTOGRAD_BACKWARD_OPTIONS_INIT; "
       "options.retain_graph = FLAM_TRUE; flam_autograd_backward(&loss, 1, &options) the first "
       "time",
       "call backward_with(&[x], BackwardOptions::default().retain_graph(true))? the first time"},
      {"torch.cat(): expected a list", "flam_cat(): expected a list", "cat(): expected a list"},
      {"  clone(input: f32[2] on cpu)", "  flam_clone(input: f32[2] on cpu)",
       "  clone(input: f32[2] on cpu)"},
      {"  convolution(input: f32[2])", "  convolution(input: f32[2])",
       "  convolution(input: f32[2])"},
      {"stop() of cudaFree(), dim()", "flam_stop() of cudaFree(), dim()",
       "stop() of cudaFree(), dim()"},
      {"1 is no reduction; use none, mean or sum",
       "1 is no reduction; use FLAM_REDUCTION_NONE, FLAM_REDUCTION_MEAN or FLAM_REDUCTION_SUM",
       "1 is no reduction; use Reduction::None, Reduction::Mean or Reduction::Sum"},
      {"name a floating dtype: mean(x, dtype=float32)",
       "name a floating dtype: flam_reduce_options options = FLAM_REDUCE_OPTIONS_INIT; "
       "options.dtype = FLAM_F32; flam_mean(x, &options)",
       "name a floating dtype: x.mean_with(ReduceOptions::default().dtype(Dtype::F32))?"},
      {"make one: x != 0", "make one: flam_ne(x, flam_scalar_i64(0))", "make one: x.ne(0)?"},
      {"torch.linalg.solve: B is None", "flam_linalg_solve: B is NULL", "linalg.solve: B is None"},
      {"a target size (torch.Size([2, 3])) that", "a target size ([2, 3]) that",
       "a target size ([2, 3]) that"},
      {"Set allow_unused=True if so", "Set allow_unused = FLAM_TRUE if so",
       "Set allow_unused = true if so"},
      {"not one that torch.save wrote", "not one that torch.save wrote",
       "not one that torch.save wrote"},
      {"None of 3 (see a.b), x", "None of 3 (see a.b), x", "None of 3 (see a.b), x"},
      {"ends with model.to(", "ends with model.to(", "ends with model.to("},
      {"", "", ""}};
  for (const Row& r : rows) {
    EXPECT_EQ(worded(r.python, Language::python), r.python);
    EXPECT_EQ(worded(r.python, Language::c), r.c);
    EXPECT_EQ(worded(r.python, Language::rust), r.rust);
  }
}

// String literals of a source file, neighbours joined as the compiler joins them.
std::vector<std::string> literals(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> found;
  bool joins = false;  // only space since the last literal
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find_first_not_of(' ');
    if (first == line.npos || line[first] == '#' || line.compare(first, 2, "//") == 0) continue;
    for (size_t i = first; i < line.size(); ++i) {
      if (line[i] == '"') {
        if (!joins) found.emplace_back();
        for (++i; i < line.size() && line[i] != '"'; ++i) {
          i += line[i] == '\\';
          found.back() += line[i];
        }
      }
      joins = line[i] == '"' || (joins && line[i] == ' ');
    }
  }
  return found;
}

bool is_python(const std::string& text, Language language) {
  static const std::regex words(
      R"(\btorch\.(?!save)\w+(\.\w+)*\(|=(True|False|None)\b|`None`|\b(is|be) (True|False)\b)"
      R"(|\bx [!=]= |\w\(\w+, \w+=\w)");
  static const std::regex calls(
      R"(\w\.(to|double|flatten|squeeze|detach|clone|reshape)\(|no_grad\()");
  if (text.find_first_of("(=") == text.npos) return false;
  return std::regex_search(text, words) ||
         (language == Language::c && std::regex_search(text, calls));
}

// Whether each `flam_` name in a text of C is one of the headers'. What ends so is cut off.
bool is_declared(const std::string& text) {
  static const std::string headers = [] {
    std::ostringstream all;
    for (const auto& entry : std::filesystem::directory_iterator("include/flambeau")) {
      all << std::ifstream(entry.path()).rdbuf();
    }
    return all.str();
  }();
  static const std::regex name(R"(\bflam_\w*[a-z0-9_](?![\w.]))");
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    if (at->suffix().length() > 0 && headers.find(at->str()) == headers.npos) return false;
  }
  return true;
}

TEST(Wording, NoTextOfTheLibraryReachesOthersWithPythonInIt) {
  // Names in files and what is printed for Python are no errors.
  const char* exempt[] = {
      "lib/io/p",        "lib/capi/format", "lib/observe", "lib/nn/", "lib/device/sim/host_access",
      "lib/base/wording"};
  size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("lib")) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".cc" || path.find("/gen/") != path.npos) continue;
    if (std::any_of(std::begin(exempt), std::end(exempt),
                    [&](const char* e) { return path.starts_with(e); })) {
      continue;
    }
    for (std::string text : literals(entry.path())) {
      if (text.ends_with("(\"")) text += "cuda:0\")";  // the program's own device comes here
      seen += is_python(text, Language::c);
      for (Language language : {Language::c, Language::rust}) {
        const std::string said = worded(text, language);
        EXPECT_FALSE(is_python(said, language)) << path << ": " << said;
        EXPECT_TRUE(language == Language::rust || is_declared(said)) << path << ": " << said;
      }
    }
  }
  EXPECT_GT(seen, 20u);  // the texts were found
}

}  // namespace
}  // namespace flambeau
