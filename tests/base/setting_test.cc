// Settings: a word counts whole, and each that is not accepted is told, never taken for another.
#include "base/setting.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace flambeau {
namespace {

// Gives the variables back as the caller of the tests had them.
class Setting : public testing::Test {
 protected:
  ~Setting() override {
    for (const auto& [name, value] : before_)
      value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }

 private:
  static std::optional<std::string> value_of(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  }
  std::map<const char*, std::optional<std::string>> before_{
      {"FLAMBEAU_CHECK", value_of("FLAMBEAU_CHECK")},
      {"FLAMBEAU_ISA", value_of("FLAMBEAU_ISA")},
      {"FLAMBEAU_NUM_THREADS", value_of("FLAMBEAU_NUM_THREADS")},
      {"CUDA_LAUNCH_BLOCKING", value_of("CUDA_LAUNCH_BLOCKING")}};
};

TEST_F(Setting, WordsCountWhole) {
  for (const char* wrong : {"nohandles", "handels", "handles stop", "handles,sotp", ",handles"}) {
    setenv("FLAMBEAU_CHECK", wrong, 1);
    EXPECT_FALSE(setting_has("FLAMBEAU_CHECK", "handles")) << wrong;
    EXPECT_EQ(setting_problems("FLAMBEAU_CHECK").size(), 1u) << wrong;
  }
  for (const char* right : {"", "stop,handles", "handles"}) {
    setenv("FLAMBEAU_CHECK", right, 1);
    EXPECT_EQ(setting_has("FLAMBEAU_CHECK", "handles"), *right != 0) << right;
    EXPECT_TRUE(setting_problems("FLAMBEAU_CHECK").empty()) << right;
  }
  setenv("FLAMBEAU_ISA", "sse2,avx2", 1);
  EXPECT_EQ(setting_problems("FLAMBEAU_ISA").at(0),
            "FLAMBEAU_ISA has \"sse2,avx2\"; accepted are sse2,avx2,avx512,avx512_bf16,amx");
  for (const char* wrong : {"1x", "yes", "10"}) {
    setenv("CUDA_LAUNCH_BLOCKING", wrong, 1);
    EXPECT_FALSE(setting_has("CUDA_LAUNCH_BLOCKING", "1")) << wrong;
    EXPECT_EQ(setting_problems("CUDA_LAUNCH_BLOCKING").size(), 1u) << wrong;
  }
}

TEST_F(Setting, ThreadsAreAWholeNumber) {
  for (const char* wrong : {"0", "-1", "2x", "two", "1.5", " 2", "5000", "99999999999", "1,2"}) {
    setenv("FLAMBEAU_NUM_THREADS", wrong, 1);
    EXPECT_EQ(setting_threads(), 0) << wrong;
    ASSERT_EQ(setting_problems("FLAMBEAU_NUM_THREADS").size(), 1u) << wrong;
  }
  EXPECT_EQ(setting_problems("FLAMBEAU_NUM_THREADS").at(0),
            "FLAMBEAU_NUM_THREADS has \"1,2\"; accepted are whole numbers from 1 to 4096");
  setenv("FLAMBEAU_NUM_THREADS", "3", 1);
  EXPECT_EQ(setting_threads(), 3);
  EXPECT_TRUE(setting_problems("FLAMBEAU_NUM_THREADS").empty());
  setenv("FLAMBEAU_NUM_THREADS", "", 1);
  EXPECT_EQ(setting_threads(), 0);
  EXPECT_TRUE(setting_problems("FLAMBEAU_NUM_THREADS").empty());
}

}  // namespace
}  // namespace flambeau
