// What toml++ gets to see, and what is refused before.
#include "planner/base/toml_text.h"

#include <gtest/gtest.h>

namespace libcoll::toml_text_test {
namespace {

TEST(TomlText, TakesAnyCharacterInCommentsAndStrings) {
  const Result<toml::table> table =
      read_toml("# Größe я \xFF\nname = \"Größe \\\" я €😀\" # é\nlong = \"\"\"é\n\"я\"\"\"\"\nlast = 1", "test.toml");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->at("name").value_or(std::string()), "Größe \" я €😀");
  EXPECT_EQ(table->at("long").value_or(std::string()), "é\n\"я\"");
  EXPECT_EQ(table->at("last").value_or(0), 1);
}

TEST(TomlText, RefusesCharactersBeyondAsciiElsewhere) {
  // Found by fuzzing: toml++ 3.0 would reach what it takes to be unreachable. The last is no UTF-8.
  for (const char* text : {"a = 1\n p\xD1\x8F#", "a = 1\n\xD1\x8F = 1", "a = 1\nb = '\xD1\x8F'", "a = 'x\n\xD1\x8F = 1",
                           "a = 1\nb = \"\xD1 \""}) {
    const Result<toml::table> table = read_toml(text, "test.toml");
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_TRUE(table.error().message.starts_with("test.toml:2: found text that is not TOML: characters beyond ASCII"))
        << table.error().message;
  }
}

TEST(TomlText, StrayQuotesHideNothingFromTheCheck) {
  // toml++ reads no string after a number; what looked like one still holds ASCII only.
  EXPECT_FALSE(read_toml("a = 2\"x\x08\xEF\xAB\xBF", "test.toml").ok());
  EXPECT_FALSE(read_toml("a = 2\"x \xD1\x8F\"", "test.toml").ok());
}

TEST(TomlText, IgnoresAByteOrderMark) { EXPECT_TRUE(read_toml("\xEF\xBB\xBF# a\na = 1", "test.toml").ok()); }

TEST(TomlText, NamesTheLineOfAnError) {
  const Result<toml::table> table = read_toml("a = 1\nb = \n", "test.toml");
  ASSERT_FALSE(table.ok());
  EXPECT_TRUE(table.error().message.starts_with("test.toml:2: found text that is not TOML")) << table.error().message;
}

}  // namespace
}  // namespace libcoll::toml_text_test
