// Settings: a word counts whole, and each that is not accepted is told, never taken for another.
#include "base/setting.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace flambeau {
namespace {

TEST(Setting, WordsCountWhole) {
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
  EXPECT_EQ(setting_problems().at(0),
            "FLAMBEAU_ISA has \"sse2,avx2\"; accepted are sse2,avx2,avx512");
  unsetenv("FLAMBEAU_ISA");
}

}  // namespace
}  // namespace flambeau
