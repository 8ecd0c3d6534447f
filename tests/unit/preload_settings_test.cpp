// What the preload reads of configuration files and the environment without a TOML reader is what the core reads with
// one.
extern "C" {
#include "pmpi/preload/settings.h"
}

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/setting_names.h"

namespace libcoll::preload_settings_test {
namespace {

std::vector<std::string> told;

class PreloadSettings : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "libcoll-preload-settings-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    std::filesystem::create_directory(directory_ + "/libcoll");
    setenv("XDG_CONFIG_HOME", directory_.c_str(), 1);
    for (const char* name : variables) unsetenv(name);
    told.clear();
  }
  void TearDown() override {
    std::filesystem::remove_all(directory_);
    for (const char* name : variables) unsetenv(name);
    unsetenv("XDG_CONFIG_HOME");
  }

  void write(const std::string& text) const {
    const std::string path = directory_ + "/libcoll/libcoll.toml";
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  static void expect_what_the_core_reads(const std::string& text) {
    const Config config = load_config(environ).config;
    const libcoll_preload_settings read = libcoll_read_settings();
    EXPECT_EQ(read.enable, config.enable) << text;
    EXPECT_EQ(read.has_topology, !config.topology.empty()) << text;
    EXPECT_EQ(read.has_stats, !config.stats.empty()) << text;
    EXPECT_EQ(read.log_level, std::min(static_cast<int>(config.log_level), static_cast<int>(libcoll_info))) << text;
  }

  static constexpr std::array variables{"LIBCOLL_ENABLE", "LIBCOLL_TOPOLOGY", "LIBCOLL_STATS", "LIBCOLL_LOG_LEVEL",
                                        "LIBCOLL_TOPOLGY"};
  std::string directory_;
};

TEST(SettingNames, AreThoseOfTheRecords) {
  std::set<std::string_view> listed;
#define LIBCOLL_SETTING(name, scope, audience) listed.insert(#name);
#include "libcoll/settings.def"
  std::set<std::string_view> records;
  for (const Setting& setting : settings()) records.insert(setting.name);
  EXPECT_EQ(listed, records);
}

TEST_F(PreloadSettings, OfFilesAreWhatTheCoreReads) {
  for (const std::string text : {"",
                                 "topology = \"ring:4\"",
                                 "topology='ring:4' # the fabric\nstats=\"summary\"\n",
                                 "topology = ''\n",
                                 "\"topology\" = \"ring:4\"\n",
                                 "'topology'\t=\t'ring:4'\r\n",
                                 "# topology = \"ring:4\"\n",
                                 "  topology = \"\"\"ring:4\"\"\"\n",
                                 "topology = \"\" # none\n",
                                 "topology = \"\"\"\"\"\"\n",
                                 "\xEF\xBB\xBFtopology = \"ring:4\"\n",
                                 "enable = false\ntopology = \"ring:4\"\n",
                                 "enable = \"Off\"\n",
                                 "enable = \"maybe\"\n",
                                 "enable = 0\n",
                                 "log_level = \"trace\"\n",
                                 "log_level = \"Error\"\nstats = 'summary'\n",
                                 "log_level = \"loud\"\n",
                                 "in_flight = 3\n[topology]\nstats = \"summary\"\n",
                                 "[libcoll]\ntopology = \"ring:4\"\n",
                                 "topology_x = \"ring:4\"\n",
                                 "top-ology = 'ring:4'\n",
                                 "topology = \"/a path/of #1.toml\"\n"}) {
    write(text);
    expect_what_the_core_reads(text);
  }
}

TEST_F(PreloadSettings, OfTheEnvironmentComeAfterFiles) {
  write("topology = \"ring:4\"\nenable = false\nlog_level = \"info\"\nstats = \"summary\"\n");
  for (const char* topology : {"", "ring:5"}) {
    for (const char* enable : {"yes", "no", "maybe", ""}) {
      setenv("LIBCOLL_TOPOLOGY", topology, 1);
      setenv("LIBCOLL_ENABLE", enable, 1);
      setenv("LIBCOLL_LOG_LEVEL", enable, 1);
      expect_what_the_core_reads(std::string(topology) + "; " + enable);
    }
  }
}

TEST_F(PreloadSettings, OfRandomFilesAreWhatTheCoreReads) {
  std::mt19937 random(20261128);
  const auto one_of = [&random](const std::vector<std::string>& texts) { return texts[random() % texts.size()]; };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> keys{"topology", "enable", "stats", "log_level", "in_flight", "topolgy", "host"};
    std::shuffle(keys.begin(), keys.end(), random);
    std::string text;
    for (std::size_t line = random() % (keys.size() + 1); line > 0; --line) {
      const std::string quote = one_of({"", "\"", "'"});
      const std::string value = one_of({"\"ring:4\"", "''", "\"summary\"", "true", "false", "3", "\"no\"", "'info'",
                                        "\"error\"", "\"# no comment\"", "'json:=.json'"});
      text.append(one_of({"", "  ", "\t"})).append(quote).append(keys.back()).append(quote);
      text.append(one_of({"=", " = ", "\t= "})).append(value).append(one_of({"\n", "\r\n", " # it's so\n", "\n\n"}));
      keys.pop_back();
    }
    write(text);
    expect_what_the_core_reads(text);
  }
}

TEST_F(PreloadSettings, UnknownNamesAreToldAsTheCoreTellsThem) {
  write("in_flight = 3\nTopolgy = \"ring:4\"\nquux = 1\n");
  setenv("LIBCOLL_TOPOLGY", "ring:4", 1);
  libcoll_tell_unknown_names([](const char* sentence) { told.emplace_back(sentence); });
  EXPECT_EQ(told, load_config(environ).warnings);
  EXPECT_EQ(told.size(), 3U);
}

}  // namespace
}  // namespace libcoll::preload_settings_test
